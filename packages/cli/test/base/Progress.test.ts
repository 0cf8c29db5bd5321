/** Bars on a terminal: what is logged while they are drawn stands above them. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { stripVTControlCharacters } from "node:util"
import * as Duration from "../../src/base/Duration.ts"
import * as Progress from "../../src/base/Progress.ts"
import * as Terminal from "../../src/base/Terminal.ts"
import { wrap } from "../../src/base/Wrap.ts"

/** A terminal that keeps what it shows: rows, of which an escape goes back and clears. */
const screen = (columns: number) => {
  let rows: Array<string> = [""]
  const stream = {
    isTTY: true,
    columns,
    rows: 24,
    write: (written: string) => {
      // oxlint-disable-next-line no-control-regex -- shown together
      let text = written.replaceAll(/\u001b\[\?2026[hl]/g, "")
      // oxlint-disable-next-line no-control-regex -- what a bar goes back with
      const back = /^\r\u001b\[(\d+)A\u001b\[J/.exec(text)
      if (back !== null) {
        rows = [...rows.slice(0, rows.length - 1 - Number(back[1])), ""]
        text = text.slice(back[0].length)
      }
      const [head = "", ...more] = stripVTControlCharacters(text).split("\n")
      rows = [...rows.slice(0, -1), rows.at(-1)! + head, ...more]
      return true
    }
  }
  // Of a terminal's stream these are used.
  return { stream: stream as unknown as NodeJS.WriteStream, rows: () => rows.filter((row) => row !== "") }
}

const lasting = (scoped: Effect.Effect<void, never, Scope.Scope>, place: Terminal.Footer) =>
  scoped.pipe(
    Effect.scoped,
    Effect.provideService(Terminal.Footer, place),
    Effect.provideService(Progress.Presenter, "bar")
  )

describe("Progress", () => {
  it.effect("keeps its bar whole below what is logged meanwhile", () => {
    const { rows, stream } = screen(80)
    const place = Terminal.footerOn(stream)
    const logged = Terminal.guard(stream, place)
    return lasting(
      Effect.gen(function* () {
        const progress = yield* Progress.make({ unit: "groups", total: 10, done: 0 })
        for (const done of [2, 5]) {
          yield* TestClock.adjust("2 seconds")
          yield* progress.update(done, `mean score 0.${done}`)
          logged.write(`a log at ${done}\n`)
        }
        assert.deepStrictEqual(rows(), [
          "a log at 2",
          "a log at 5",
          `${"█".repeat(12)}${"░".repeat(12)} 50% 5/10 groups | 4.0 s left | mean score 0.5`
        ])
        yield* TestClock.adjust("2 seconds")
        yield* progress.update(10, "over")
      }),
      place
    ).pipe(
      Effect.tap(() =>
        Effect.sync(() => {
          logged.write("after\n")
          assert.deepStrictEqual(rows().slice(2), [`${"█".repeat(24)} 100% 10/10 groups | over`, "after"])
        })
      )
    )
  })

  it.effect("never is wider than its terminal, and loses no word of a detail that fits into four rows", () =>
    Effect.forEach([40, 60, 80, 120], (width) => {
      const { rows, stream } = screen(width)
      const place = Terminal.footerOn(stream)
      const detail = "pass rate 12.5%, mean score 0.125, 3 dropped, 2 failed"
      return lasting(
        Effect.gen(function* () {
          const progress = yield* Progress.make({ unit: "items", total: 4, done: 0 })
          yield* TestClock.adjust("2 seconds")
          yield* progress.update(1, detail)
          for (const row of rows()) assert.isBelow(row.length, width)
          assert.include(rows().join(" ").replaceAll(/\s+/g, " "), detail)
        }),
        place
      )
    })
  )
})

describe("wrap", () => {
  it("goes on in the next row, indented, between words", () => {
    assert.deepStrictEqual(wrap("health  Steps skipped (skipped): 100% of the last 10 steps", 30, 8), [
      "health  Steps skipped",
      "        (skipped): 100% of the",
      "        last 10 steps"
    ])
    assert.deepStrictEqual(wrap("short", 30, 8), ["short"])
  })

  it.prop(
    "is within its width whatever the text",
    [Schema.String, Schema.Int.check(Schema.isBetween({ minimum: 8, maximum: 40 }))],
    ([text, width]) => {
      for (const row of wrap(text.repeat(9), width, 8)) assert.isAtMost(row.length, width)
    }
  )
})

describe("Duration", () => {
  it("never says 60 seconds or 60 minutes, and omits a unit that is zero", () => {
    const told = [4_240, 59_960, 119_700, 3_599_700, 7_260_000].map(Duration.time)
    assert.deepStrictEqual(told, ["4.2 s", "1 min", "2 min", "1 h", "2 h 1 min"])
  })
})
