import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { stripVTControlCharacters } from "node:util"
import * as Terminal from "../../src/base/Terminal.ts"
import * as ProgressDisplay from "../../src/train/ProgressDisplay.ts"
import { step } from "./Steps.ts"

const state: ProgressDisplay.State = {
  done: 40,
  total: 100,
  rewards: Array.from({ length: 40 }, (_, index) => index / 40),
  recent: Array.from({ length: 10 }, (_, index) =>
    step(31 + index, { stepSeconds: 2, waitSeconds: 1.2, computeSeconds: 0.5, updateSeconds: 0.1, publishSeconds: 0.2 })
  ),
  findings: []
}

describe("ProgressDisplay", () => {
  it("says how far the run is, what it earns, how fast it goes, where the time goes, and how it fares", () => {
    const lines = ProgressDisplay.render(state, { width: 120, colour: false })
    assert.match(lines[0]!, /^step {4}40\/100 █+░+ 40%, 2 min left$/)
    assert.match(lines[1]!, /^reward {2}0\.86[23] ▁+[▂▃▄▅▆▇]+█+$/)
    assert.match(lines[2]!, /entropy 0\.610 \| no-signal groups 25%.*50 tokens\/s/)
    assert.strictEqual(lines[3], "time    2.00 s a step | sampling 60% | training 30% | sync 10%")
    assert.strictEqual(lines[4], "health  ok")
  })

  it("has no time left where nothing moves, and calls nothing solved that is in doubt", () => {
    const recent = state.recent.map((one) => ({ ...one, solvedFraction: 1 }))
    const activity = { state: "stalled" as const, idleSeconds: 200, reason: null, environment: null, errors: [] }
    const standing = ProgressDisplay.standingOf(activity)
    const lines = ProgressDisplay.render({ ...state, recent, isInDoubt: true, standing }, { width: 120, colour: false })
    assert.match(lines[0]!, /40%, stalled for 3 min 20 s$/)
    assert.include(lines[2], "scored as solved 100%")
    assert.isUndefined(ProgressDisplay.standingOf({ ...activity, state: "running" }))
    assert.isUndefined(ProgressDisplay.standingOf(undefined))
  })

  it("loses no word of a hint on a terminal of 80 columns", () => {
    const recent = state.recent.map((one) => ({
      ...one,
      skipped: "nothingToTrain" as const,
      groups: 4,
      constantGroups: 4
    }))
    const finding =
      "Steps skipped (skipped): 100% of the last 10 steps changed no weights: raise the group size or take harder items"
    const lines = ProgressDisplay.render(
      { ...state, recent, findings: [{ text: finding, isBroken: true }] },
      { width: 79, colour: false }
    )
    const words = lines.join(" ").replaceAll(/\s+/g, " ")
    assert.include(words, finding)
    assert.include(words, "steps skipped (identical scores)")
    assert.notInclude(words, "…")
  })

  it("shows three findings in full in the colours of their severity, and counts the others", () => {
    const findings = ["one", "two", "three", "four", "five"].map((text, at) => ({ text, isBroken: at === 0 }))
    const lines = ProgressDisplay.render({ ...state, findings }, { width: 79, colour: true }).slice(4)
    assert.deepStrictEqual(lines, [
      "\u001b[31mhealth  one\u001b[39m",
      "\u001b[33m        two\u001b[39m",
      "\u001b[33m        three\u001b[39m",
      "        and 2 more on the run's page"
    ])
    const well = ProgressDisplay.render(state, { width: 79, colour: true })
    assert.strictEqual(well[4], "health  \u001b[32mok\u001b[39m")
    assert.include(well[0], "40/100 \u001b[36m█")
  })

  it("says before the first step what the run waits for, and for how long", () => {
    const lines = ProgressDisplay.render(
      { ...state, done: 0, recent: [], rewards: [], idleSeconds: 42 },
      { width: 79, colour: false }
    )
    assert.strictEqual(lines[3], "time    waiting for the first batch of rollouts for 42 s")
  })

  it.prop(
    "is as narrow as its terminal, and has colours and commands of nobody else",
    [Schema.Int.check(Schema.isBetween({ minimum: 8, maximum: 200 })), Schema.String],
    ([width, text]) => {
      const findings = [`\u001b[2J${text}`, "another"].map((text) => ({ text, isBroken: text !== "another" }))
      for (const colour of [true, false]) {
        const lines = ProgressDisplay.render({ ...state, findings }, { width, colour })
        for (const line of lines) {
          const plain = stripVTControlCharacters(line)
          assert.isAtMost(plain.length, width)
          assert.strictEqual(Terminal.escape(plain), plain)
          assert.notInclude(plain, "\n")
          if (!colour) assert.strictEqual(plain, line)
        }
      }
    }
  )
})

/** A terminal of some width, and what was written to it. */
const terminal = (columns: number) => {
  const written: Array<string> = []
  const stream = {
    isTTY: true,
    columns,
    rows: 24,
    write: (text: string) => {
      written.push(text)
      return true
    }
  }
  // Of a terminal's stream these are used.
  return { stream: stream as unknown as NodeJS.WriteStream, taken: () => written.splice(0).join("") }
}

const together = (text: string) => `\u001b[?2026h${text}\u001b[?2026l`

describe("Terminal.placeOn", () => {
  it("draws nothing on a terminal that can only print, and knows that somebody is there", () => {
    const term = process.env["TERM"]
    process.env["TERM"] = "dumb"
    try {
      const { stream, taken } = terminal(80)
      const place = Terminal.footerOn(stream)
      place.show(["one"])
      assert.deepStrictEqual([place.columns, place.isWatched, taken()], [undefined, true, ""])
      assert.isFalse(Terminal.hasColours())
    } finally {
      if (term === undefined) delete process.env["TERM"]
      else process.env["TERM"] = term
    }
    assert.isDefined(Terminal.footerOn(terminal(80).stream).columns)
  })

  it("keeps lines below what is printed, once that has ended its line", () => {
    const { stream, taken } = terminal(20)
    const place = Terminal.footerOn(stream)
    const guarded = Terminal.guard(stream, place)
    place.show(["one", "two"])
    assert.strictEqual(taken(), together("one\ntwo\n"))
    place.show(["one", "two"])
    assert.strictEqual(taken(), together("\r\u001b[2A\u001b[Jone\ntwo\n"))
    guarded.write("a log\n")
    assert.strictEqual(taken(), "\r\u001b[2A\u001b[Ja log\none\ntwo\n")
    guarded.write("half")
    assert.strictEqual(taken(), "\r\u001b[2A\u001b[Jhalf")
    place.show(["three"])
    assert.strictEqual(taken(), "")
    guarded.write(" a line\n")
    assert.strictEqual(taken(), " a line\nthree\n")
    stream.rows = 2
    place.show(["first", "second"])
    assert.strictEqual(taken(), together("\r\u001b[1A\u001b[Jfirst\n"))
    place.show(["three"])
    assert.strictEqual(taken(), together("\r\u001b[1A\u001b[Jthree\n"))
    stream.rows = 24
    stream.columns = 2
    place.leave(["end"])
    // Five letters in rows of two.
    assert.strictEqual(taken(), together("\r\u001b[3A\u001b[Jend\n"))
    guarded.write("after\n")
    assert.strictEqual(taken(), "after\n")
  })
})
