import pytest

from rotor.errors import RotorError
from rotor.sizes import format_size, parse_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("500", 500),
        ("64k", 65536),
        ("64 KiB", 65536),
        ("1.5M", 1572864),
        ("0.5k", 512),
        ("2GB", 2147483648),
        ("0.5", 1),
    ],
)
def test_a_size_has_a_number_and_a_unit(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "k", "-1", "1,5M", "1.M", "1T", "1 2"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(RotorError, match="is no size"):
        parse_size(text)


def test_sizes_are_printed_in_the_biggest_unit():
    assert [format_size(n) for n in (0, 1023, 1024, 1572864, 2**31)] == [
        "0",
        "1023",
        "1.0k",
        "1.5M",
        "2.0G",
    ]
