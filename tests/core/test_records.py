"""A record is what a dataclass of the standard library is."""

from __future__ import annotations

import copy
import dataclasses
import gc
import inspect
import pickle
import weakref
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest

from tfnb.core.process.records import record, replace


def _classes(decorator: Any) -> dict[str, type]:
    """Return classes of each form that tfnb uses, made by a decorator."""

    @decorator(slots=True, frozen=True)
    class Frozen:
        """Slots, defaults, a field that is not compared."""

        a: int
        b: tuple[int, ...] = ()
        c: str = field(default="", compare=False)
        limit: ClassVar[int] = 3

    @decorator(slots=True)
    class Open:
        """Factories, a hidden field, fields without an argument."""

        a: int
        made: list[int] = field(default_factory=list)
        hidden: int = field(default=5, repr=False)
        own: dict[str, int] = field(init=False, default_factory=dict)
        fixed: int = field(init=False, default=7)

    @decorator(slots=True, eq=False, weakref_slot=True)
    class Identical:
        """Compared by identity."""

        a: int = 1

    @decorator(frozen=True)
    class Computed:
        """A field that is computed afterwards, and a dictionary."""

        a: int
        twice: int = field(init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "twice", 2 * self.a)

    @decorator()
    class Base:
        """Has one field."""

        a: int = 0

    @decorator()
    class Derived(Base):
        """Adds a field, and defines methods of its own."""

        b: int = 1

        def __repr__(self) -> str:
            return f"derived {self.a} {self.b}"

        def __eq__(self, other: object) -> bool:
            return self is other

        def __hash__(self) -> int:
            return 5

    @decorator(frozen=True)
    class One:
        """One field only."""

        a: int

    @decorator(frozen=True)
    class Empty:
        """No fields."""

    return {
        made.__name__: made for made in (Frozen, Open, Identical, Computed, Derived, One, Empty)
    }


RECORDS, DATACLASSES = _classes(record), _classes(dataclass)
ARGUMENTS: list[tuple[str, tuple[Any, ...]]] = [
    ("Frozen", (1,)),
    ("Frozen", (1, (2,), "c")),
    ("Open", (1,)),
    ("Open", (1, [2], 3)),
    ("Identical", ()),
    ("Computed", (4,)),
    ("Derived", (1, 2)),
    ("One", (1,)),
    ("Empty", ()),
]


def _text(one: Any) -> str:
    return repr(one).replace(type(one).__qualname__, type(one).__name__)


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS)
def test_a_record_behaves_as_the_dataclass_does(name: str, arguments: tuple[Any, ...]) -> None:
    """Text, fields, equality, hash and copies are the same as those of a dataclass."""
    ours, theirs = RECORDS[name](*arguments), DATACLASSES[name](*arguments)
    assert _text(ours) == _text(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)  # type: ignore[call-overload]
    for found in ((ours, RECORDS[name](*arguments)), (theirs, DATACLASSES[name](*arguments))):
        assert (found[0] == found[1]) is (theirs == DATACLASSES[name](*arguments))
    assert (type(ours).__hash__ is None) is (type(theirs).__hash__ is None)
    assert (ours == theirs) is False
    assert dataclasses.asdict(copy.copy(ours)) == dataclasses.asdict(ours)  # type: ignore[call-overload]
    assert hasattr(ours, "__dict__") is hasattr(theirs, "__dict__")


@pytest.mark.parametrize("name", list(RECORDS))
def test_a_record_takes_the_arguments_of_the_dataclass(name: str) -> None:
    """Names, order and existence of defaults are the same; too few arguments are an error."""

    def arguments(cls: type) -> list[tuple[str, bool]]:
        found = inspect.signature(cls).parameters.values()
        return [(one.name, one.default is inspect.Parameter.empty) for one in found]

    assert arguments(RECORDS[name]) == arguments(DATACLASSES[name])
    assert RECORDS[name].__match_args__ == DATACLASSES[name].__match_args__  # type: ignore[attr-defined]


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS)
def test_each_instance_is_made_alike(name: str, arguments: tuple[Any, ...]) -> None:
    """The first ones, made without a compiled method, and later ones have the same fields."""
    cls = _classes(record)[name]
    instances = [cls(*arguments) for _ in range(4)]
    assert [_text(one) for one in instances] == [_text(DATACLASSES[name](*arguments))] * 4
    assert "__init__" in vars(cls)
    assert dataclasses.replace(_classes(record)[name](*arguments)) is not None  # type: ignore[type-var]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [((), {}), ((1, (), "", 4), {}), ((1,), {"a": 2}), ((1,), {"d": 2}), ((), {"b": ()})],
)
def test_wrong_arguments_are_an_error_from_the_first_instance(
    arguments: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """Too few, too many, twice the same, unknown names."""
    frozen = _classes(record)["Frozen"]
    for _ in range(4):
        with pytest.raises(TypeError, match=r"__init__\(\)"):
            frozen(*arguments, **named)
        frozen(1)


def test_a_default_that_can_be_changed_is_refused() -> None:
    """All instances would share it, as with the standard library."""
    with pytest.raises(ValueError, match="mutable default <class 'list'> for field a"):

        @record()
        class Shared:
            """A list for all instances."""

            a: list[int] = []  # noqa: RUF012


def test_frozen_records_hash_by_what_they_compare() -> None:
    """Equal instances have equal hashes, and a field that is not compared does not count."""
    frozen = RECORDS["Frozen"]
    assert hash(frozen(1, (2,), "x")) == hash(frozen(1, (2,), "y"))
    assert frozen(1, (2,), "x") == frozen(1, (2,), "y")
    assert len({RECORDS["One"](1), RECORDS["One"](1), RECORDS["One"](2)}) == 2
    assert RECORDS["Empty"]() == RECORDS["Empty"]()


def test_frozen_records_refuse_changes() -> None:
    """Fields can neither be set nor deleted."""
    one = RECORDS["Frozen"](1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        one.a = 2  # type: ignore[attr-defined]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'a'"):
        del one.a  # type: ignore[attr-defined]


def test_replace_makes_a_changed_record() -> None:
    """``dataclasses.replace`` takes records, and ours does the same."""
    for changed in (dataclasses.replace, replace):
        one = changed(RECORDS["Frozen"](1, (2,), "c"), a=3)  # type: ignore[type-var]
        assert _text(one) == "Frozen(a=3, b=(2,), c='c')"
        with pytest.raises(ValueError, match="fixed is declared with init=False"):
            changed(RECORDS["Open"](1), fixed=3)  # type: ignore[type-var]


def test_a_dataclass_can_extend_a_record() -> None:
    """A class of the standard library inherits fields, and whether they can be set."""

    @dataclass(frozen=True)
    class Longer(RECORDS["Frozen"]):  # type: ignore[misc]
        """One field more, behind those with defaults."""

        d: int = 4

    assert dataclasses.astuple(Longer(1, (2,))) == (1, (2,), "", 4)
    with pytest.raises(TypeError, match="cannot inherit non-frozen dataclass from a frozen one"):
        dataclass(type("Open", (RECORDS["Frozen"],), {}))


def test_each_instance_has_its_own_list() -> None:
    """A factory is called for each instance."""
    first, second = RECORDS["Open"](1), RECORDS["Open"](1)
    first.made.append(1)  # type: ignore[attr-defined]
    assert (second.made, first.own is second.own) == ([], False)  # type: ignore[attr-defined]


def test_a_record_can_have_weak_references() -> None:
    """``weakref_slot`` adds the slot."""
    one = RECORDS["Identical"]()
    reference = weakref.ref(one)
    assert reference() is one
    del one
    gc.collect()
    assert reference() is None


@record(slots=True, frozen=True)
class Pickled:
    """Can be found by its name."""

    a: int
    b: Any = None


def test_frozen_records_with_slots_are_pickled() -> None:
    """State is restored although attributes cannot be set."""
    assert pickle.loads(pickle.dumps(Pickled(1, [2]))) == Pickled(1, [2])


def test_a_record_inside_of_itself_is_shown() -> None:
    """The text of a circle ends."""
    content: list[Any] = []
    one = Pickled(1, content)
    content.append(one)
    assert repr(one) == "Pickled(a=1, b=[...])"
