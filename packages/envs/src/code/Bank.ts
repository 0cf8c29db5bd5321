/** Small problems of our own: heads with docstrings, as in HumanEval, a body that passes and the tests. */
import type { Problem } from "./Problem.ts"

const problem = (head: string, body: string, tests: string): Problem => {
  const entry = /^def (\w+)/m.exec(head)![1]!
  const preamble = `${head.trim()}\n`
  const indented = body.trim().replaceAll(/^/gm, "    ")
  return {
    question: preamble,
    preamble,
    setup: "",
    tests: tests.trim().split("\n\n"),
    entry,
    asks: [entry],
    solution: `${preamble}${indented}\n`
  }
}

export const bank: ReadonlyArray<Problem> = [
  problem(
    `
def running_total(numbers: list) -> list:
    """The sum of the numbers up to and including each place.
    >>> running_total([1, 2, 3])
    [1, 3, 6]
    """`,
    `
total, sums = 0, []
for number in numbers:
    total += number
    sums.append(total)
return sums`,
    `
assert running_total([1, 2, 3]) == [1, 3, 6]
assert running_total([]) == []
assert running_total([-1, 1, -1]) == [-1, 0, -1]
assert running_total([0.5, 0.25]) == [0.5, 0.75]`
  ),
  problem(
    `
def count_vowels(text: str) -> int:
    """How many of the letters a, e, i, o, u the text has, capital ones included.
    >>> count_vowels("Apple pie")
    4
    """`,
    `return sum(letter in "aeiou" for letter in text.lower())`,
    `
assert count_vowels("Apple pie") == 4
assert count_vowels("") == 0
assert count_vowels("rhythm") == 0
assert count_vowels("AEIOU aeiou") == 10`
  ),
  problem(
    `
def rotate(items: list, places: int) -> list:
    """The list with every item moved to the right by so many places; what leaves at the end comes in at the front.
    >>> rotate([1, 2, 3, 4], 1)
    [4, 1, 2, 3]
    """`,
    `
if not items:
    return []
places %= len(items)
return items[-places:] + items[:-places] if places else list(items)`,
    `
assert rotate([1, 2, 3, 4], 1) == [4, 1, 2, 3]
assert rotate([1, 2, 3, 4], -1) == [2, 3, 4, 1]
assert rotate([1, 2, 3], 7) == [3, 1, 2]
assert rotate([1, 2, 3], 0) == [1, 2, 3]
assert rotate([], 3) == []`
  ),
  problem(
    `
def balanced(text: str) -> bool:
    """Whether every bracket of (), [] and {} is closed by its own kind, in the right order. Other characters do not matter.
    >>> balanced("f(x[1])")
    True
    """`,
    `
pairs = {")": "(", "]": "[", "}": "{"}
open_brackets = []
for character in text:
    if character in "([{":
        open_brackets.append(character)
    elif character in pairs:
        if not open_brackets or open_brackets.pop() != pairs[character]:
            return False
return not open_brackets`,
    `
assert balanced("f(x[1])") is True
assert balanced("") is True
assert balanced("(]") is False
assert balanced("([)]") is False
assert balanced("((") is False
assert balanced("}") is False`
  ),
  problem(
    `
def word_counts(text: str) -> dict:
    """How often each word comes up, in lower case; words are separated by white space.
    >>> word_counts("a rose is A rose")
    {'a': 2, 'rose': 2, 'is': 1}
    """`,
    `
counts = {}
for word in text.lower().split():
    counts[word] = counts.get(word, 0) + 1
return counts`,
    `
assert word_counts("a rose is A rose") == {"a": 2, "rose": 2, "is": 1}
assert word_counts("") == {}
assert word_counts("  one\\n two\\tone ") == {"one": 2, "two": 1}`
  ),
  problem(
    `
def greatest_common_divisor(a: int, b: int) -> int:
    """The largest whole number that divides both; of 0 and n it is n.
    >>> greatest_common_divisor(12, 18)
    6
    """`,
    `
while b:
    a, b = b, a % b
return abs(a)`,
    `
assert greatest_common_divisor(12, 18) == 6
assert greatest_common_divisor(17, 5) == 1
assert greatest_common_divisor(0, 9) == 9
assert greatest_common_divisor(2 ** 80, 2 ** 70 * 3) == 2 ** 70`
  ),
  problem(
    `
def primes_below(limit: int) -> list:
    """All prime numbers smaller than the limit, in order.
    >>> primes_below(12)
    [2, 3, 5, 7, 11]
    """`,
    `
found = []
for number in range(2, limit):
    if all(number % prime for prime in found if prime * prime <= number):
        found.append(number)
return found`,
    `
assert primes_below(12) == [2, 3, 5, 7, 11]
assert primes_below(2) == []
assert primes_below(3) == [2]
assert len(primes_below(1000)) == 168`
  ),
  problem(
    `
def run_lengths(text: str) -> list:
    """Runs of the same character as (character, length), in order.
    >>> run_lengths("aabccc")
    [('a', 2), ('b', 1), ('c', 3)]
    """`,
    `
runs = []
for character in text:
    if runs and runs[-1][0] == character:
        runs[-1] = (character, runs[-1][1] + 1)
    else:
        runs.append((character, 1))
return runs`,
    `
assert run_lengths("aabccc") == [("a", 2), ("b", 1), ("c", 3)]
assert run_lengths("") == []
assert run_lengths("aba") == [("a", 1), ("b", 1), ("a", 1)]`
  ),
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
