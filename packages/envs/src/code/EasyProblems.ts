/** Defines the first half of the bank: one loop or one expression each. */
import { problem } from "./BankProblem.ts"
import type { Problem } from "./Problem.ts"

export const easyProblems: ReadonlyArray<Problem> = [
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
  )
]
