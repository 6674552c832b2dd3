"""``tf.contrib.integrate``: ordinary differential equations."""

from tfnb.as_tensorflow.contrib.integrate.adaptive import odeint as odeint
from tfnb.as_tensorflow.contrib.integrate.fixed_grid import odeint_fixed as odeint_fixed
