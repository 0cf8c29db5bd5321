/** When the turns of a rollout happened: recorded by its session, carried by its group. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Result, Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Environment from "../../src/Environment.ts"
import { layerBackends, ServerManager } from "../../src/inference/ServerManager.ts"
import * as Scripted from "../../src/inference/backend/Scripted.ts"
import * as Tokenizer from "../../src/inference/tokenizer/Tokenizer.ts"
import { type Message, user } from "../../src/trajectory/Message.ts"
import * as PackedGroup from "../../src/service/PackedGroup.ts"
import * as SavedGroup from "../../src/service/SavedGroup.ts"
import * as Timings from "../../src/trajectory/Timings.ts"

/** Answers after two seconds. */
const scripted = Scripted.make(["one", "two", "three", "four"], Tokenizer.bytes)
const slow = {
  ...scripted,
  tokens: (request: Parameters<typeof scripted.tokens>[0]) => Effect.delay(scripted.tokens(request), "2 seconds")
}

/** Two questions one second apart, of a group of two; scored in half a second. */
const environment = Environment.layer("timed", Environment.settings({}), () =>
  Effect.gen(function* () {
    const servers = yield* ServerManager
    const rollOut = Effect.gen(function* () {
      const session = yield* servers.tracked()
      let messages: ReadonlyArray<Message> = [user("first")]
      for (const next of ["second", undefined]) {
        const [choice] = yield* session.chat({ messages })
        if (next === undefined) break
        yield* Effect.sleep("1 second")
        messages = [...messages, choice!.message, user(next)]
      }
      return (yield* session.trajectories).at(-1)!
    })
    return {
      items: () => Stream.make("item"),
      collectTrajectories: () =>
        Effect.scoped(Effect.delay(Effect.all([rollOut, rollOut], { concurrency: 2 }), "3 seconds")),
      score: () => Effect.as(Effect.sleep("500 millis"), [1, 0])
    }
  })
)({})

const rolledOut = (numMaxRequestsAtOnce: number) =>
  Effect.gen(function* () {
    yield* Effect.forkChild(Effect.forever(TestClock.adjust("100 millis")))
    const { groups } = yield* Environment.Environment
    return Option.getOrThrow(yield* Stream.runHead(groups))
  }).pipe(
    Effect.provide(environment),
    Effect.provide(layerBackends([slow], { numMaxRequestsAtOnce })),
    Effect.provide(Tokenizer.layerBytes)
  )

describe("Timings", () => {
  it.effect(
    "say when each turn was asked for, sent and answered, from the item's start on, and when it was scored",
    () =>
      Effect.gen(function* () {
        const { timings } = yield* rolledOut(2)
        const scored = { from: 8000, to: 8500 }
        const turns = [
          { asked: 3000, sent: 3000, answered: 5000 },
          { asked: 6000, sent: 6000, answered: 8000 }
        ]
        assert.deepStrictEqual(timings, [
          { turns, scored },
          { turns, scored }
        ])
      })
  )

  it.effect("tell waiting for a server apart from generating", () =>
    Effect.gen(function* () {
      const { timings } = yield* rolledOut(1)
      assert.deepStrictEqual(
        timings?.map((one) => one?.turns[0]),
        [
          { asked: 3000, sent: 3000, answered: 5000 },
          { asked: 3000, sent: 5000, answered: 7000 }
        ]
      )
    })
  )

  it.effect("come through packed groups and lines as they were, and leave the original's object alone", () =>
    Effect.gen(function* () {
      const group = yield* rolledOut(1)
      const packed = Result.getOrThrow(PackedGroup.decode(PackedGroup.encode(group)))
      assert.deepStrictEqual(packed.timings, group.timings)
      const line = SavedGroup.encode(group)
      assert.deepStrictEqual(Result.getOrThrow(SavedGroup.parse(line)).group.timings, group.timings)
      const { timings: _, ...without } = group
      assert.isTrue(line.startsWith(SavedGroup.encode(without).slice(0, -1)))
    })
  )

  const time = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 0x7fff_ffff }))
  const turn = Schema.Struct({ asked: time, sent: time, answered: time })
  const call = Schema.Struct({
    from: time,
    to: time,
    title: Schema.String,
    kind: Schema.String,
    status: Schema.String,
    text: Schema.String
  })
  const some = Schema.Struct({
    turns: Schema.NonEmptyArray(turn),
    calls: Schema.optionalKey(Schema.Array(call)),
    scored: Schema.optionalKey(Schema.Struct({ from: time, to: time }))
  })
  it.prop("survive both forms", [Schema.NullOr(some)], ([timings]) => {
    const { calls = null } = timings ?? {}
    const row = Timings.ofRow(Timings.toRow(timings))
    assert.deepStrictEqual(Timings.withCalls([row ?? null], [calls]), [timings])
    assert.deepStrictEqual(Timings.ofJson(JSON.parse(JSON.stringify(Timings.toJson(timings)))), timings)
  })

  it("are nothing where they make no sense", () => {
    for (const odd of [1, "x", [], {}, { turns: 1 }, { turns: [] }, { turns: [null] }, { turns: [[1, 2]] }]) {
      assert.isNull(Timings.ofJson(odd), JSON.stringify(odd))
    }
    assert.isNull(Timings.ofJson({ turns: [[1, 2, 3]], scored: [1, "2"] }))
    for (const calls of [null, {}, [null], [{ from: 1, to: 2 }]]) {
      assert.isNull(Timings.ofJson({ turns: [[1, 2, 3]], calls }))
    }
    for (const row of [[1], [-1, -1], [-1, -1, 1, 2], [-1, -1, 1, -2, 3], [5, -1, 1, 2, 3]]) {
      assert.isUndefined(Timings.ofRow(Int32Array.from(row)), String(row))
    }
    // A trajectory that was made before its item began has none.
    assert.isNull(Timings.since({ turns: [{ asked: 1, sent: 2, answered: 3 }] }, { startedAt: 2 }))
    assert.isNull(Timings.since({}, { startedAt: 0 }))
  })
})
