/** Defines the second half of the bank: more edge cases, or a known algorithm. */
import { problem } from "./BankProblem.ts"
import type { Problem } from "./Problem.ts"

export const hardProblems: ReadonlyArray<Problem> = [
  problem(
    `
def transpose(rows: list) -> list:
    """Rows and columns of a table exchanged; all rows have the same length.
    >>> transpose([[1, 2, 3], [4, 5, 6]])
    [[1, 4], [2, 5], [3, 6]]
    """`,
    `return [list(column) for column in zip(*rows)]`,
    `
assert transpose([[1, 2, 3], [4, 5, 6]]) == [[1, 4], [2, 5], [3, 6]]
assert transpose([[7]]) == [[7]]
assert transpose([]) == []`
  ),
  problem(
    `
def second_largest(numbers: list):
    """The largest number that is smaller than the largest; None if there is none.
    >>> second_largest([3, 5, 5, 1])
    3
    """`,
    `
different = sorted(set(numbers))
return different[-2] if len(different) > 1 else None`,
    `
assert second_largest([3, 5, 5, 1]) == 3
assert second_largest([2, 2]) is None
assert second_largest([]) is None
assert second_largest([-1, -2]) == -2`
  ),
  problem(
    `
def to_roman(number: int) -> str:
    """The number, from 1 to 3999, in Roman numerals.
    >>> to_roman(1994)
    'MCMXCIV'
    """`,
    `
values = [(1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
          (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")]
written = ""
for value, numeral in values:
    while number >= value:
        written += numeral
        number -= value
return written`,
    `
assert to_roman(1994) == "MCMXCIV"
assert to_roman(3) == "III"
assert to_roman(4) == "IV"
assert to_roman(3999) == "MMMCMXCIX"`
  ),
  problem(
    `
def merge_intervals(intervals: list) -> list:
    """Intervals (start, end), those that touch or overlap joined, sorted by start.
    >>> merge_intervals([(5, 8), (1, 3), (3, 4)])
    [(1, 4), (5, 8)]
    """`,
    `
merged = []
for start, end in sorted(intervals):
    if merged and start <= merged[-1][1]:
        merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
    else:
        merged.append((start, end))
return merged`,
    `
assert merge_intervals([(5, 8), (1, 3), (3, 4)]) == [(1, 4), (5, 8)]
assert merge_intervals([]) == []
assert merge_intervals([(1, 10), (2, 3)]) == [(1, 10)]`
  ),
  problem(
    `
def apply_all(functions: list, value):
    """What comes out when the value goes through one function after the other.
    >>> apply_all([abs, lambda x: x + 1], -3)
    4
    """`,
    `
for function in functions:
    value = function(value)
return value`,
    `
assert apply_all([abs, lambda x: x + 1], -3) == 4
assert apply_all([], "same") == "same"
assert apply_all([str, len], 12345) == 5`
  ),
  problem(
    `
def edit_distance(a: str, b: str) -> int:
    """The fewest insertions, deletions and replacements of single characters that make b of a.
    >>> edit_distance("kitten", "sitting")
    3
    """`,
    `
row = list(range(len(b) + 1))
for i, x in enumerate(a, 1):
    previous, row[0] = row[0], i
    for j, y in enumerate(b, 1):
        previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
return row[-1]`,
    `
assert edit_distance("kitten", "sitting") == 3
assert edit_distance("", "abc") == 3
assert edit_distance("abc", "abc") == 0
assert edit_distance("flaw", "lawn") == 2`
  ),
  problem(
    `
def parse_duration(text: str) -> int:
    """Seconds of a duration like "1h30m", "45s" or "2h5s"; raises ValueError for anything else.
    >>> parse_duration("1h30m")
    5400
    """`,
    `
import re
match = re.fullmatch(r"(?:(\\d+)h)?(?:(\\d+)m)?(?:(\\d+)s)?", text)
if not match or not text:
    raise ValueError(text)
hours, minutes, seconds = (int(part or 0) for part in match.groups())
return hours * 3600 + minutes * 60 + seconds`,
    `
assert parse_duration("1h30m") == 5400
assert parse_duration("45s") == 45
assert parse_duration("2h5s") == 7205

for wrong in ("", "5", "m", "5m1h"):
    try:
        parse_duration(wrong)
        raised = False
    except ValueError:
        raised = True
    assert raised, wrong`
  ),
  problem(
    `
def spiral(size: int) -> list:
    """A square of numbers from 1, clockwise from the top left corner inwards.
    >>> spiral(3)
    [[1, 2, 3], [8, 9, 4], [7, 6, 5]]
    """`,
    `
square = [[0] * size for _ in range(size)]
row, column, down, right = 0, 0, 0, 1
for number in range(1, size * size + 1):
    square[row][column] = number
    r, c = row + down, column + right
    if not (0 <= r < size and 0 <= c < size) or square[r][c]:
        down, right = right, -down
    row, column = row + down, column + right
return square`,
    `
assert spiral(3) == [[1, 2, 3], [8, 9, 4], [7, 6, 5]]
assert spiral(1) == [[1]]
assert spiral(0) == []
assert spiral(2) == [[1, 2], [4, 3]]`
  )
]
