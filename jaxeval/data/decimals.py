"""Many decimal numbers of a text at once, each to the last bit as `float` reads it.

A number such as -0.418 is a whole number below 2^53 over a power of ten up to 10^22: one division,
rounded once, is correct (Clinger 1990, "How to read floating point numbers accurately"). Eight
digits become a whole number by three multiplications (Lemire 2021, "Number parsing at a gigabyte
per second", section 5). Anything else (an exponent, more digits, no point) is left to `float`.

Notation: N numbers. Each begins at its start, after a minus, has a point, and ends before its end.
"""

import numpy as np

_MINUS, _POINT, _BLANK, _ZERO = 45, 46, 32, 48
_WINDOW = 8  # bytes
_MOST_DIGITS = 15  # of a number below 2^53
_POWERS = 10 ** np.arange(_MOST_DIGITS + 1, dtype=np.uint64)
_SCALES = _POWERS.astype(np.float64)
_SHIFTS = np.arange(64, -1, -8, dtype=np.uint64)  # leaves the last 0 to 8 of eight bytes
_ZEROS = np.uint64(0x3030303030303030)  # "00000000"
_ABOVE_NINE = np.uint64(0x7676767676767676)  # added to a digit, leaves the highest bit 0
_HIGHEST = np.uint64(0x8080808080808080)
_EVEN = np.uint64(0x000000FF000000FF)
_LOWER, _UPPER = np.uint64(0x000F424000000064), np.uint64(0x0000271000000001)
_8, _10, _16, _32 = (np.uint64(n) for n in (8, 10, 16, 32))


def parse(numbers: bytes, count: int) -> np.ndarray | None:
    """The numbers of a text: [count] float64.

    Args:
      numbers: separated by single blanks or newlines, with one at the end.

    Returns:
      None where there are not so many, or one is no number.
    """
    padded = bytes(2 * _WINDOW) + numbers
    text = np.frombuffer(padded, np.uint8)
    ends = np.flatnonzero(text[2 * _WINDOW :] <= _BLANK) + 2 * _WINDOW
    if len(ends) != count:
        return None
    starts = np.concatenate([[2 * _WINDOW], ends[:-1] + 1])
    points = np.flatnonzero(text == _POINT)
    if len(points) != count:  # the last byte stands for none
        points = np.append(points, len(text) - 1)[np.searchsorted(points, starts)]
    minus = text[starts] == _MINUS
    values, known = _short(padded, starts + minus, points, ends)
    rest = np.flatnonzero(~known)
    if len(rest):
        values[rest], known[rest] = _long(padded, (starts + minus)[rest], points[rest], ends[rest])
    np.negative(values, out=values, where=minus)
    try:
        for k in np.flatnonzero(~known):
            values[k] = float(padded[starts[k] : ends[k]])
    except ValueError:
        return None
    return values


def _short(
    padded: bytes, starts: np.ndarray, points: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers [N] of one digit before the point and up to eight after it; which are such."""
    before = points - 1
    width = ends - points - 1
    known = (before == starts) & (width.view(np.uint64) <= _8)
    width[~known] = 0
    first = np.frombuffer(padded, np.uint8)[before] ^ np.uint8(_ZERO)
    known &= first <= 9
    digits, right = _digits(padded, ends, width)
    digits += first * _POWERS[width]
    return digits.astype(np.float64) / _SCALES[width], known & right


def _long(
    padded: bytes, starts: np.ndarray, points: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Numbers [N] of up to eight digits before the point and fifteen in all; which are such."""
    whole, fraction = points - starts, ends - points - 1
    known = (whole >= 1) & (whole <= _WINDOW) & (fraction >= 0)
    known &= whole + fraction <= _MOST_DIGITS
    whole, fraction = whole * known, fraction * known
    points = np.where(known, points, 2 * _WINDOW)
    low, right = _digits(padded, ends, np.minimum(fraction, _WINDOW))
    high, too = _digits(padded, ends - _WINDOW, np.maximum(fraction - _WINDOW, 0))
    first, also = _digits(padded, points, whole)
    digits = low + high * _POWERS[_WINDOW] + first * _POWERS[fraction]
    return digits.astype(np.float64) / _SCALES[fraction], known & right & too & also


def _digits(padded: bytes, ends: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whole numbers [N] of 0 to 8 characters up to an end; which are of digits alone."""
    windows = np.ndarray(len(padded) - _WINDOW + 1, "<u8", padded, strides=(1,))
    digits = windows[ends - _WINDOW]
    digits ^= _ZEROS
    shift = _SHIFTS[width]
    digits >>= shift
    digits <<= shift
    right = ((digits + _ABOVE_NINE) | digits) & _HIGHEST == 0
    pairs = digits * _10
    digits >>= _8
    pairs += digits
    upper = pairs >> _16
    upper &= _EVEN
    upper *= _UPPER
    pairs &= _EVEN
    pairs *= _LOWER
    pairs += upper
    pairs >>= _32
    return pairs, right
