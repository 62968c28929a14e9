"""A caller has so many places and no more, whatever happens inside."""

import pytest

from planner.api.places import Places
from planner.api.problems import Busy


def test_a_caller_holds_so_many_places_and_gives_them_back():
    places = Places("validations", 2)
    with (places.one_of("a"), places.one_of("a"), places.one_of("b"),
          pytest.raises(Busy, match="2 validations running"), places.one_of("a")):
        raise AssertionError
    with pytest.raises(ValueError, match="inside"), places.one_of("a"):
        raise ValueError("inside")
    with places.one_of("a"), places.one_of("a"):
        pass
