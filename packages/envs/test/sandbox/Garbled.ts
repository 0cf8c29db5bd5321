/** Answers of a program that are none, and tests that would take them for one. */

/** A program that says this line instead of every answer. */
export const saying = (frame: string): string => `import sys
def double(x):
    frame = sys._getframe()
    while type(frame.f_locals.get("self")).__name__ != "RunnerLink":
        frame = frame.f_back
    link = frame.f_locals["self"]
    link.send_value = lambda value: link.send(${JSON.stringify(frame)})
    return x + 3
`

/** Lines that are no answer. What reading them raises would end a loop, or be a "no", if tests were told. */
export const garbled: ReadonlyArray<string> = [
  "",
  " ",
  "[",
  "[1",
  "[1,",
  "[1,]",
  "nonsense",
  "7",
  "null",
  '"text"',
  "{}",
  '{"d":[]}',
  "[]",
  "[1]",
  "[1,2,3]",
  "[1,4] [1,4]",
  "[2]",
  '[2,1,[],""]',
  '[2,1,[7],""]',
  '[2,1,7,""]',
  "[3,4]",
  "[0]",
  '[0,"call"]',
  "[[1],4]",
  '[1,1,{"m":99}]',
  '[1,1,{"m":"x"}]',
  '[1,1,{"r":[1]}]',
  '[1,1,{"r":[[],""]}]',
  '[1,1,{"q":1}]',
  "[1,1,{}]",
  '[1,1,{"t":1}]',
  '[1,1,{"s":[[]]}]',
  '[1,1,{"i":"0xz"}]',
  '[1,1,{"x":["os.system",["true"]]}]',
  '[1,1,{"x":["fractions.Fraction",[1,0]]}]',
  '[1,1,{"d":[[1]]}]',
  `[1,1,${"9".repeat(5000)}]`,
  `[1,1,${"[".repeat(5000)}`
]

/**
 * Tests that a wrong `double` would pass if what goes wrong between it and them were an exception that Python gives a
 * meaning.
 */
export const swallowing: ReadonlyArray<string> = [
  "assert all(map(double, [2, 4, 6]))",
  "for x in map(double, [2]):\n    assert x == 4",
  "assert list(filter(double, [1])) == []",
  "assert list(iter(lambda: double(2), 0)) == []",
  "assert next(map(double, [2]), 4) == 4",
  "assert not hasattr(double, 'limit') and getattr(double, 'limit', 4) == 4",
  "try:\n    double(2)\nexcept:\n    pass",
  "import contextlib\nwith contextlib.suppress(BaseException):\n    double(2)",
  "def always():\n    try:\n        return double(2) == 4\n    finally:\n        return True\nassert always()",
  "def pairs():\n    for x in (1, 2):\n        yield double(x)\nassert not any(isinstance(x, str) for x in pairs())"
]
