import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { EventEmitter } from "node:events"
import * as Keys from "../../src/base/Keys.ts"

type Input = Parameters<ReturnType<typeof Keys.pressed>>[0]

/** A terminal's input, and the modes that it was set to. */
const keyboard = () => {
  const modes: Array<boolean> = []
  const emitter = new EventEmitter()
  const input = Object.assign(emitter, {
    setRawMode: (isRaw: boolean) => modes.push(isRaw),
    resume: () => input,
    pause: () => input
  })
  // Of a stream these are used.
  return { input: input as unknown as Input, modes, press: (keys: string) => emitter.emit("data", keys) }
}

describe("Keys.pressed", () => {
  it.effect("ends at its key, in either case, and gives the terminal back", () =>
    Effect.gen(function* () {
      for (const key of ["q", "Q"]) {
        const { input, modes, press } = keyboard()
        const waiting = yield* Effect.forkChild(Keys.pressed("q")(input))
        yield* Effect.yieldNow
        press("x")
        assert.deepStrictEqual(modes, [true])
        press(key)
        yield* Fiber.join(waiting)
        assert.deepStrictEqual(modes, [true, false])
      }
    })
  )

  it.effect("gives the terminal back where something else ends it", () =>
    Effect.gen(function* () {
      const { input, modes } = keyboard()
      const waiting = yield* Effect.forkChild(Keys.pressed("q")(input))
      yield* Effect.yieldNow
      yield* Fiber.interrupt(waiting)
      assert.deepStrictEqual(modes, [true, false])
    })
  )
})
