"""The rules of the gradient functions of :mod:`function_gradients`, as text.

A rule begins with ``Op ...: arguments -> results``. An argument is ``name`` or ``name:type``; the
default type is ``T``. ``name*N`` is a list whose length is the attribute ``N``. Each line
``name = Op(inputs; attrs)`` is a node; its attributes follow from its inputs, except those that
are written there; ``$X`` is the attribute ``X`` of the op. ``name = 1.0`` is a constant: a float;
``2`` an int32, ``2l`` an int64, ``[0]`` a vector.
"""

from __future__ import annotations

NO_GRADIENT = """
Const EditDistance Equal FakeQuantWithMinMaxArgsGradient FakeQuantWithMinMaxVarsGradient
FakeQuantWithMinMaxVarsPerChannelGradient Floor FloorDiv Greater GreaterEqual Less LessEqual
LinSpace LogicalAnd LogicalNot LogicalOr NotEqual OnesLike RandomUniform Range Rank Shape Size
StatelessMultinomial StatelessRandomNormal StatelessRandomUniform StatelessTruncatedNormal
StopGradient TruncateDiv ZerosLike
"""
"""Ops without a gradient; for other ops, a missing rule is an error."""

# Gradients of ops with one argument.
UNARY = """
Abs: x dy -> dx
  sign = Sign(x, ^dy)
  dx = Mul(dy, sign)
Neg: x dy -> dx
  dx = Neg(dy)
Inv Reciprocal: x dy -> dx
  y = Reciprocal(x)
  y2 = Square(y, ^dy)
  y2_neg = Neg(y2)
  dx = Mul(dy, y2_neg)
Square: x dy -> dx
  c = 2l
  two = Cast(c; DstT=$T)
  x2 = Mul(x, two, ^dy)
  dx = Mul(dy, x2)
Sqrt: x dy -> dx
  y = Sqrt(x)
  y_inv = Reciprocal(y, ^dy)
  const = 0.5
  half = Cast(const; DstT=$T)
  a = Mul(half, y_inv)
  dx = Mul(dy, a)
Rsqrt: x dy -> dx
  x_inv = Reciprocal(x, ^dy)
  y = Rsqrt(x)
  const = -0.5
  neghalf = Cast(const; DstT=$T)
  a = Mul(neghalf, x_inv)
  b = Mul(a, y)
  dx = Mul(dy, b)
Exp Expm1: x dy -> dx
  y = Exp(x)
  dx = Mul(dy, y)
Log: x dy -> dx
  x_inv = Reciprocal(x, ^dy)
  dx = Mul(dy, x_inv)
Log1p: x dy -> dx
  const = 1.0
  one = Cast(const; DstT=$T)
  a = Add(one, x)
  dx = Div(dy, a)
Sinh: x dy -> dx
  cosh = Cosh(x, ^dy)
  dx = Mul(dy, cosh)
Cosh: x dy -> dx
  sinh = Sinh(x, ^dy)
  dx = Mul(dy, sinh)
Tanh: x dy -> dx
  y = Tanh(x)
  y2 = Square(y, ^dy)
  const = 1.0
  one = Cast(const; DstT=$T)
  a = Sub(one, y2)
  dx = Mul(dy, a)
Asinh: x dy -> dx
  y = Asinh(x)
  cosh = Cosh(y)
  dx = Mul(dy, cosh)
Acosh: x dy -> dx
  y = Acosh(x)
  sinh = Sinh(y)
  dx = Mul(dy, sinh)
Atanh: x dy -> dx
  x2 = Square(x)
  const = 1.0
  one = Cast(const; DstT=$T)
  a = Sub(one, x2)
  inv = Reciprocal(a)
  dx = Mul(dy, inv)
Sigmoid: x dy -> dx
  y = Sigmoid(x)
  const = 1.0
  one = Cast(const; DstT=$T)
  a = Sub(one, y, ^dy)
  b = Mul(y, a)
  dx = Mul(dy, b)
Sign: x dy -> dx
  s = Shape(x)
  zero = 0.0
  val = Cast(zero; DstT=$T)
  dx = Fill(s, val)
Sin: x dy -> dx
  cos = Cos(x, ^dy)
  dx = Mul(dy, cos)
Cos: x dy -> dx
  sin = Sin(x, ^dy)
  neg = Neg(sin)
  dx = Mul(dy, neg)
Tan: x dy -> dx
  cosx = Cos(x)
  secx = Reciprocal(cosx)
  secx2 = Square(secx)
  dx = Mul(dy, secx2)
Asin: x dy -> dx
  x2 = Square(x)
  const = 1.0
  one = Cast(const; DstT=$T)
  a = Sub(one, x2)
  b = Sqrt(a)
  inv = Reciprocal(b)
  dx = Mul(dy, inv)
Acos: x dy -> dx
  x2 = Square(x)
  const = 1.0
  one = Cast(const; DstT=$T)
  a = Sub(one, x2)
  b = Sqrt(a)
  inv = Reciprocal(b)
  neg = Neg(inv)
  dx = Mul(dy, neg)
Atan: x dy -> dx
  x2 = Square(x)
  const = 1.0
  one = Cast(const; DstT=$T)
  a = Add(one, x2)
  inv = Reciprocal(a)
  dx = Mul(dy, inv)
Conj: x dy -> dx
  dx = Conj(dy)
Real: x dy -> dx
  zero = 0.0
  dx = Complex(dy, zero; T=$T)
Imag: x dy -> dx
  zero = 0.0
  dx = Complex(zero, dy; T=$T)
Angle: x dy -> dx
  re = Real(x)
  im = Imag(x)
  z = Complex(im, re; T=$T)
  z_inv = Reciprocal(z)
  neg = Neg(z_inv)
  dx = Mul(neg, dy)
Cast: x:SrcT dy:DstT -> dx
  dx = Cast(dy; DstT=$SrcT)
Identity: x dy -> dx
  dx = Identity(dy)
ReadVariableOp: x:resource dy:dtype -> dy
Relu: x dy -> dx
  dx = ReluGrad(dy, x)
Relu6: x dy -> dx
  dx = Relu6Grad(dy, x)
Softmax: x grad_softmax -> grad_x
  softmax = Softmax(x)
  n0 = Mul(grad_softmax, softmax)
  indices = -1
  n1 = Sum(n0, indices; keep_dims=true)
  n2 = Sub(grad_softmax, n1)
  grad_x = Mul(n2, softmax)
LogSoftmax: x grad_logsoftmax -> grad_x
  softmax = Softmax(x)
  indices = -1
  n0 = Sum(grad_logsoftmax, indices; keep_dims=true)
  n1 = Mul(n0, softmax)
  grad_x = Sub(grad_logsoftmax, n1)
"""

# Gradients gx and gy of ops with two arguments that are broadcast to each other.
BINARY = """
Add AddV2: x y dz -> gx gy
  gx = Identity(dz)
  gy = Identity(dz)
Sub: x y dz -> gx gy
  gx = Identity(dz)
  gy = Neg(dz)
Mul MulNoNan: x y dz -> gx gy
  gx = Mul(dz, y)
  gy = Mul(x, dz)
Div: x y dz -> gx gy
  gx = Div(dz, y)
  nx = Neg(x, ^dz)
  y2 = Square(y, ^dz)
  nx_y2 = Div(nx, y2)
  gy = Mul(dz, nx_y2)
RealDiv: x y dz -> gx gy
  gx = RealDiv(dz, y)
  nx = Neg(x, ^dz)
  y2 = Square(y, ^dz)
  nx_y2 = RealDiv(nx, y2)
  gy = Mul(dz, nx_y2)
DivNoNan: x y dz -> gx gy
  gx = DivNoNan(dz, y)
  nx = Neg(x, ^dz)
  y2 = Square(y, ^dz)
  nx_y2 = DivNoNan(nx, y2)
  gy = Mul(dz, nx_y2)
Minimum: x y dz -> gx gy
  c = LessEqual(x, y, ^dz)
  mask = Cast(c; DstT=$T)
  gx = Mul(dz, mask)
  gy = Sub(dz, gx)
Maximum: x y dz -> gx gy
  c = GreaterEqual(x, y, ^dz)
  mask = Cast(c; DstT=$T)
  gx = Mul(dz, mask)
  gy = Sub(dz, gx)
SquaredDifference: x y dz -> gx gy
  c = 2l
  two = Cast(c; DstT=$T)
  x_sub_y = Sub(x, y)
  two_x_sub_y = Mul(two, x_sub_y)
  gx = Mul(two_x_sub_y, dz)
  gy = Neg(gx)
Xlogy: x y dz -> gx gy
  zeros = ZerosLike(x)
  is_x_zero = NotEqual(x, zeros)
  is_zero_cast = Cast(is_x_zero; DstT=$T)
  safe_logy = Xlogy(is_zero_cast, y)
  xlogygrad = Xdivy(x, y)
  gx = Mul(safe_logy, dz)
  gy = Mul(xlogygrad, dz)
Xlog1py: x y dz -> gx gy
  const = 1.0
  one = Cast(const; DstT=$T)
  zeros = ZerosLike(x)
  yp1 = Add(y, one)
  is_x_zero = NotEqual(x, zeros)
  is_zero_cast = Cast(is_x_zero; DstT=$T)
  safe_log1py = Xlog1py(is_zero_cast, y)
  xlog1pygrad = Xdivy(x, yp1)
  gx = Mul(safe_log1py, dz)
  gy = Mul(xlog1pygrad, dz)
Xdivy: x y dz -> gx gy
  zeros = ZerosLike(x)
  is_x_zero = NotEqual(x, zeros)
  is_zero_cast = Cast(is_x_zero; DstT=$T)
  safe_divy = Xdivy(is_zero_cast, y)
  y2 = Square(y)
  negy2 = Neg(y2)
  xdivygrad = Xdivy(x, negy2)
  gx = Mul(safe_divy, dz)
  gy = Mul(xdivygrad, dz)
Complex: x y dz:Tout -> gx gy
  gx = Real(dz; T=$T)
  gy = Imag(dz; T=$T)
Pow: x y dz -> gx gy
  z = Pow(x, y)
  const_zero = 0.0
  const_one = 1.0
  zero = Cast(const_zero; DstT=$T)
  one = Cast(const_one; DstT=$T)
  t0 = Sub(y, one, ^dz)
  t1 = Pow(x, t0)
  t2 = Mul(dz, y)
  gx = Mul(t1, t2)
  unsafe_log = Log(x, ^dz)
  zeros = ZerosLike(x)
  pos_x = Greater(x, zero)
  safe_log = Select(pos_x, unsafe_log, zeros)
  t4 = Mul(dz, z)
  gy = Mul(safe_log, t4)
"""

SUM_TO_SHAPE = """
  sx = Shape(x)
  sy = Shape(y)
  rx = BroadcastGradientArgs(sx, sy)
  sum_gx = Sum(gx, rx)
  dx = Reshape(sum_gx, sx)
  sum_gy = Sum(gy, rx:1)
  dy = Reshape(sum_gy, sy)
"""

# Rules for complex numbers, where they differ.
COMPLEX = """
Mul MulNoNan: x y dz -> gx gy
  cy = Conj(y, ^dz)
  gx = Mul(dz, cy)
  cx = Conj(x, ^dz)
  gy = Mul(cx, dz)
Pow: x y dz -> gx gy
  z = Pow(x, y)
  const_zero = 0.0
  const_one = 1.0
  zero = Cast(const_zero; DstT=$T)
  one = Cast(const_one; DstT=$T)
  t0 = Sub(y, one, ^dz)
  t1 = Pow(x, t0)
  t2 = Mul(dz, y)
  gx = Mul(t1, t2)
  unsafe_log = Log(x, ^dz)
  zeros = ZerosLike(x)
  nz_x = NotEqual(x, zero)
  safe_log = Select(nz_x, unsafe_log, zeros)
  t4 = Mul(dz, z)
  gy = Mul(safe_log, t4)
"""

OTHERS = """
Select: c:bool x y dz -> dc dx dy
  dc = ZerosLike(c, ^dz)
  zeros = ZerosLike(x, ^dz)
  dx = Select(c, dz, zeros)
  dy = Select(c, zeros, dz)
Sum: x i:int32 dy -> dx di
  x_shape = Shape(x)
  x_rank = Rank(x)
  i_shape = Shape(i)
  zero = 0
  one = 1
  stitch_val1 = Fill(i_shape, one)
  di = ZerosLike(i)
  stitch_idx0 = Range(zero, x_rank, one)
  y_shape = DynamicStitch([stitch_idx0, i], [x_shape, stitch_val1])
  tile_scaling = Div(x_shape, y_shape)
  dy_reshaped = Reshape(dy, y_shape)
  dx = Tile(dy_reshaped, tile_scaling)
Mean: x i:int32 dy -> dx di
  x_shape = Shape(x)
  x_rank = Rank(x)
  i_shape = Shape(i)
  zero = 0
  one = 1
  stitch_val1 = Fill(i_shape, one)
  di = ZerosLike(i)
  stitch_idx0 = Range(zero, x_rank, one)
  y_shape = DynamicStitch([stitch_idx0, i], [x_shape, stitch_val1])
  tile_scaling = Div(x_shape, y_shape)
  factor = Prod(tile_scaling, zero)
  factor_T = Cast(factor; DstT=$T)
  dy_scaled = Div(dy, factor_T)
  dy_reshaped = Reshape(dy_scaled, y_shape)
  dx = Tile(dy_reshaped, tile_scaling)
Max: x i:int32 dy -> dx di
  y = Max(x, i; keep_dims=true)
  mask = Equal(x, y)
  mask_cast = Cast(mask; DstT=$T)
  mask_sum = Sum(mask_cast, i)
  norm_dy = Div(dy, mask_sum)
  sy = Shape(y)
  norm_dy_reshaped = Reshape(norm_dy, sy)
  dx = Mul(mask_cast, norm_dy_reshaped)
  di = ZerosLike(i)
Min: x i:int32 dy -> dx di
  y = Min(x, i; keep_dims=true)
  mask = Equal(x, y)
  mask_cast = Cast(mask; DstT=$T)
  mask_sum = Sum(mask_cast, i)
  norm_dy = Div(dy, mask_sum)
  sy = Shape(y)
  norm_dy_reshaped = Reshape(norm_dy, sy)
  dx = Mul(mask_cast, norm_dy_reshaped)
  di = ZerosLike(i)
BiasAdd: input bias grad -> grad bias_grad
  bias_grad = BiasAddGrad(grad; data_format=$data_format)
Conv2D: input filter grad -> input_grad filter_grad
  i_shape = Shape(input)
  input_grad = Conv2DBackpropInput(i_shape, filter, grad; strides=$strides, padding=$padding, \
data_format=$data_format, use_cudnn_on_gpu=$use_cudnn_on_gpu)
  f_shape = Shape(filter)
  filter_grad = Conv2DBackpropFilter(input, f_shape, grad; strides=$strides, padding=$padding, \
data_format=$data_format, use_cudnn_on_gpu=$use_cudnn_on_gpu)
MaxPool: input grad -> output
  maxpool = MaxPool(input; ksize=$ksize, strides=$strides, padding=$padding)
  output = MaxPoolGrad(input, maxpool, grad; ksize=$ksize, strides=$strides, padding=$padding)
AvgPool: input grad -> output
  i_shape = Shape(input)
  output = AvgPoolGrad(i_shape, grad; ksize=$ksize, strides=$strides, padding=$padding)
MaxPoolGrad: input grad -> output
  maxpool = MaxPool(input; ksize=$ksize, strides=$strides, padding=$padding)
  output = MaxPoolGradGrad(input, maxpool, grad; ksize=$ksize, strides=$strides, padding=$padding)
Squeeze: x dy -> dx
  x_shape = Shape(x)
  dx = Reshape(dy, x_shape)
Fill: dims:int32 x dy -> d_dims dx
  d_dims = ZerosLike(dims)
  zero = 0
  rank = Rank(dy)
  one = 1
  r = Range(zero, rank, one)
  dx = Sum(dy, r)
Reshape ExpandDims: x shape:int32 dy -> dx dshape
  x_shape = Shape(x)
  dx = Reshape(dy, x_shape)
  dshape = ZerosLike(shape)
BroadcastTo: x shape:int32 dy -> dx dshape
  sx = Shape(x)
  rx = BroadcastGradientArgs(sx, shape)
  sum_gx = Sum(dy, rx)
  dx = Reshape(sum_gx, sx)
  dshape = ZerosLike(shape)
Transpose: x p:int32 dy -> dx dp
  q = InvertPermutation(p)
  dx = Transpose(dy, q)
  dp = ZerosLike(p)
ConjugateTranspose: x p:int32 dy -> dx dp
  q = InvertPermutation(p)
  dx = ConjugateTranspose(dy, q)
  dp = ZerosLike(p)
Concat: dim:int32 x*N dy -> d_dim dx*N
  shapes = ShapeN([x]; N=$N)
  offset = ConcatOffset(dim, [shapes])
  d_dim = ZerosLike(dim)
  dx = Slice(dy, offset, shapes)
ConcatV2: x*N dim:int32 dy -> dx*N d_dim
  shapes = ShapeN([x]; N=$N)
  offset = ConcatOffset(dim, [shapes])
  d_dim = ZerosLike(dim)
  dx = Slice(dy, offset, shapes)
Pack: x*N dy -> dx*N
  dx = Unpack(dy; num=$N, axis=$axis)
Unpack: x dy*num -> dx
  dx = Pack([dy]; axis=$axis)
Split: dim:int32 x dy*num_split -> d_dim dx
  d_dim = ZerosLike(dim)
  dx = Concat(dim, [dy])
SplitV: x size_splits:Tlen dim:int32 dy*num_split -> dx d_size_splits d_dim
  dx = Concat(dim, [dy])
  d_size_splits = ZerosLike(size_splits)
  d_dim = ZerosLike(dim)
GatherNd: params:Tparams indices:Tindices doutput:Tparams -> dparams dindices
  x_shape = Shape(params)
  dparams = ScatterNd(indices, doutput, x_shape; Tindices=$Tindices)
  dindices = ZerosLike(indices)
Reverse: x d:bool dy -> dx dd
  dx = Reverse(dy, d)
  dd = ZerosLike(d)
ReverseV2: x d:int32 dy -> dx dd
  dx = ReverseV2(dy, d)
  dd = ZerosLike(d)
Slice: x begin:int32 size:int32 dy -> dx begin_grad size_grad
  one = 1
  b1 = ExpandDims(begin, one)
  xs = Shape(x)
  xs_b = Sub(xs, begin)
  xs_b_s = Sub(xs_b, size)
  a1 = ExpandDims(xs_b_s, one)
  paddings = Concat(one, [b1, a1])
  dx = Pad(dy, paddings)
  begin_grad = ZerosLike(begin)
  size_grad = ZerosLike(size)
StridedSlice: x begin:int32 end:int32 stride:int32 dy -> dx begin_grad end_grad stride_grad
  xs = Shape(x)
  dx = StridedSliceGrad(xs, begin, end, stride, dy; begin_mask=$begin_mask, end_mask=$end_mask, \
ellipsis_mask=$ellipsis_mask, new_axis_mask=$new_axis_mask, shrink_axis_mask=$shrink_axis_mask)
  begin_grad = ZerosLike(begin)
  end_grad = ZerosLike(end)
  stride_grad = ZerosLike(stride)
StridedSliceGrad: shape:int32 begin:int32 end:int32 stride:int32 dy grad -> \
shape_grad begin_grad end_grad stride_grad dy_grad
  shape_grad = ZerosLike(shape)
  begin_grad = ZerosLike(begin)
  end_grad = ZerosLike(end)
  stride_grad = ZerosLike(stride)
  dy_grad = StridedSlice(grad, begin, end, stride; begin_mask=$begin_mask, end_mask=$end_mask, \
ellipsis_mask=$ellipsis_mask, new_axis_mask=$new_axis_mask, shrink_axis_mask=$shrink_axis_mask)
"""

# Sums over broadcast batch dimensions of matrices.
MATRIX_SUM_TO_SHAPE = """
  zero = [0]
  one = [1]
  minustwo = [-2]
  sx = Shape(x)
  sy = Shape(y)
  batch_sx = StridedSlice(sx, zero, minustwo, one)
  batch_sy = StridedSlice(sy, zero, minustwo, one)
  rx = BroadcastGradientArgs(batch_sx, batch_sy)
  sum_gx = Sum(gx, rx)
  sum_gy = Sum(gy, rx:1)
  dx = Reshape(sum_gx, sx)
  dy = Reshape(sum_gy, sy)
"""
