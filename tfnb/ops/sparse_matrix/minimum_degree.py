"""An ordering of a symmetric sparse matrix's rows for which its Cholesky factor has few elements.

The approximate minimum degree algorithm (Amestoy, Davis and Duff, 1996), in the variant that
TensorFlow's library has, so that the order is the same: ties are broken by the position in lists,
and the diagonal counts as a neighbour.

Eliminating a node joins its neighbours into an *element*, a clique of which only the members are
kept. A node that is not eliminated has a list of elements and a list of nodes; nodes that an
element covers are removed from the latter. Nodes with the same lists become one *supernode*.
Elements and
nodes that were absorbed have a parent, and the order is a traversal of these trees, with children
first.
"""

from __future__ import annotations

import math

_NONE = -1


class _QuotientGraph:
    """The graph while its nodes are eliminated.

    State, by node: ``nodes`` and ``elements`` (neighbours, in order), ``members`` (of an element),
    ``weight`` (the number of nodes it represents; 0: absorbed, negative: in the new element),
    ``degree``, ``parent``, ``alive`` (of elements); and the nodes of each degree as a double chain.
    """

    def __init__(self, neighbours: list[list[int]]) -> None:
        self.count = n = len(neighbours)
        self.nodes = [list(one) for one in neighbours]
        self.elements: list[list[int]] = [[] for _ in range(n)]
        self.members: list[list[int]] = [[] for _ in range(n)]
        self.weight = [1] * (n + 1)
        self.degree = [len(one) for one in neighbours] + [0]
        self.parent = [_NONE] * (n + 1)
        self.alive = [True] * n
        self.is_element = [False] * n
        self.first = [_NONE] * (n + 2)
        self.next = [_NONE] * n
        self.previous = [_NONE] * n
        self.eliminated = 0
        self.least = 0

    # -- chains of nodes by degree -----------------------------------------------------------------

    def put(self, node: int, degree: int) -> None:
        """Insert a node in front of those of its degree."""
        head = self.first[degree]
        if head != _NONE:
            self.previous[head] = node
        self.next[node], self.previous[node] = head, _NONE
        self.first[degree] = node

    def take(self, node: int) -> None:
        """Remove a node from its chain."""
        before, after = self.previous[node], self.next[node]
        if after != _NONE:
            self.previous[after] = before
        if before != _NONE:
            self.next[before] = after
        else:
            self.first[self.degree[node]] = after

    def take_least(self) -> int:
        """Remove the node of least degree and return it."""
        while self.first[self.least] == _NONE:
            self.least += 1
        node = self.first[self.least]
        after = self.next[node]
        if after != _NONE:
            self.previous[after] = _NONE
        self.first[self.least] = after
        return node

    # -- phases ------------------------------------------------------------------------------------

    def start(self) -> None:
        """Place nodes without neighbours first; those with very many, or without diagonal, last."""
        n = self.count
        dense = min(n - 2, max(16, int(10 * math.sqrt(n))))
        for node, neighbours in enumerate(self.nodes):
            has_diagonal = node in neighbours
            if len(neighbours) == 1 and has_diagonal:
                self.is_element[node], self.alive[node] = True, False
                self.eliminated += 1
            elif len(neighbours) > dense or not has_diagonal:
                self.weight[node], self.parent[node] = 0, n
                self.eliminated += 1
                self.weight[n] += 1
            else:
                self.put(node, len(neighbours))

    def eliminate(self) -> None:
        """Eliminate the node of least degree."""
        pivot = self.take_least()
        size = self.weight[pivot]
        self.eliminated += size
        self._make_element(pivot)
        outside = self._outside(pivot)
        size = self._update_degrees(pivot, size, outside)
        self._join_equal_nodes(pivot)
        self._finish(pivot, size)

    def _make_element(self, pivot: int) -> None:
        """Collect the members of the new element, and remove them from their chains."""
        weight = self.weight
        weight[pivot] = -weight[pivot]
        members: list[int] = []
        total = 0
        for element in self.elements[pivot]:
            total += self._gather(self.members[element], members)
            self.parent[element], self.alive[element] = pivot, False
        total += self._gather(self.nodes[pivot], members)
        self.members[pivot], self.degree[pivot] = members, total
        self.is_element[pivot] = True

    def _gather(self, nodes: list[int], members: list[int]) -> int:
        total = 0
        for node in nodes:
            size = self.weight[node]
            if size > 0:
                total += size
                self.weight[node] = -size
                members.append(node)
                self.take(node)
        return total

    def _outside(self, pivot: int) -> dict[int, int]:
        """Return the weight outside the new element of each element that meets it."""
        outside: dict[int, int] = {}
        for node in self.members[pivot]:
            for element in self.elements[node]:
                if self.alive[element]:
                    known = outside.get(element, self.degree[element])
                    outside[element] = known + self.weight[node]  # the weight is negative
        return outside

    def _update_degrees(self, pivot: int, size: int, outside: dict[int, int]) -> int:
        """Update lists and degrees of all members; return the size of the pivot's supernode."""
        weight = self.weight
        for node in self.members[pivot]:
            degree = 0
            kept = []
            for element in self.elements[node]:
                if not self.alive[element]:
                    continue
                if outside[element] > 0:
                    degree += outside[element]
                    kept.append(element)
                else:
                    self.parent[element], self.alive[element] = pivot, False
            nodes = [other for other in self.nodes[node] if weight[other] > 0]
            degree += sum(weight[other] for other in nodes)
            if degree == 0:  # only the new element is left in its lists
                self.parent[node] = pivot
                self.degree[pivot] += weight[node]
                size -= weight[node]
                self.eliminated -= weight[node]
                weight[node] = 0
            else:
                self.degree[node] = min(self.degree[node], degree)
                self.nodes[node] = nodes[1:] + nodes[:1]
                self.elements[node] = [pivot, *kept[1:], *kept[:1]]
        return size

    def _join_equal_nodes(self, pivot: int) -> None:
        """Join all members with the same lists into one supernode."""
        buckets: dict[int, list[int]] = {}
        for node in self.members[pivot]:
            if self.weight[node] < 0:
                key = (sum(self.elements[node][1:]) + sum(self.nodes[node])) % self.count
                # The last member is compared first.
                buckets.setdefault(key, []).insert(0, node)
        for bucket in buckets.values():
            while len(bucket) > 1:
                chosen, rest = bucket[0], []
                lists = set(self.elements[chosen]), set(self.nodes[chosen])
                for node in bucket[1:]:
                    if (set(self.elements[node]), set(self.nodes[node])) == lists:
                        self.parent[node] = chosen
                        self.weight[chosen] += self.weight[node]
                        self.weight[node] = 0
                    else:
                        rest.append(node)
                bucket = rest

    def _finish(self, pivot: int, size: int) -> None:
        """Insert the remaining members into chains again."""
        left = []
        for node in self.members[pivot]:
            weight = -self.weight[node]
            if weight <= 0:
                continue
            self.weight[node] = weight
            degree = self.degree[node] + self.degree[pivot] - weight
            degree = min(degree, self.count - self.eliminated - weight)
            self.put(node, degree)
            self.least = min(self.least, degree)
            self.degree[node] = degree
            left.append(node)
        self.weight[pivot] = size
        self.members[pivot] = left
        if not left:
            self.parent[pivot], self.alive[pivot] = _NONE, False


def minimum_degree_order(neighbours: list[list[int]]) -> list[int]:
    """Return the order of the nodes of a symmetric graph.

    Args:
      neighbours: the neighbours of each node, including itself if the matrix has this diagonal
        element.

    >>> minimum_degree_order([[0, 2], [1], [0, 2]])
    [1, 0, 2]
    """
    graph = _QuotientGraph(neighbours)
    graph.start()
    while graph.eliminated < graph.count:
        graph.eliminate()
    return _walk(graph)


def _walk(graph: _QuotientGraph) -> list[int]:
    """Return all nodes, children before their parents."""
    n = graph.count
    children: list[list[int]] = [[] for _ in range(n + 1)]
    # Among the children of a parent, elements come first, each kind by number.
    for is_left in (False, True):
        for node in range(n + 1):
            absorbed = graph.weight[node] <= 0
            if absorbed is is_left and graph.parent[node] != _NONE:
                children[graph.parent[node]].append(node)
    order: list[int] = []
    for root in range(n + 1):
        if graph.parent[root] != _NONE:
            continue
        waiting = [(root, iter(children[root]))]
        while waiting:
            node, rest = waiting[-1]
            child = next(rest, None)
            if child is None:
                waiting.pop()
                order.append(node)
            else:
                waiting.append((child, iter(children[child])))
    return order[:n]
