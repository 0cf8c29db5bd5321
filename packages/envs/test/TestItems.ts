/** What the tests of environments ask of the one in their context. */
import { Environment, Laws, Message, type ServerManager, type Trajectory } from "@atropos/core"
import { assert } from "@effect/vitest"
import { Effect, Option, Stream } from "effect"

/** Labels of the training items from a cursor on. */
export const labels = (from: number, count: number) =>
  Effect.flatMap(Environment.Environment, ({ work }) =>
    work(from).pipe(
      Stream.take(count),
      Stream.map(({ label }) => label),
      Stream.runCollect
    )
  )

/** Labels of the evaluation items. */
export const heldOutLabels = Effect.flatMap(Environment.Environment, ({ evaluation }) =>
  Stream.runCollect(Stream.map(Option.getOrThrow(evaluation), ({ label }) => label))
)

/** The same items come from any cursor on, and none of them is held out for evaluation. */
export const itemsHold = Effect.gen(function* () {
  const all = yield* labels(0, 30)
  assert.deepStrictEqual(all.slice(20), yield* labels(20, 10))
  const held = yield* heldOutLabels
  assert.strictEqual(held.length, 200)
  assert.isFalse(all.some((label) => held.includes(label)))
})

/** Gold answers get the top and wrong ones less, for so many items. */
export const claimsHold = Effect.fnUntraced(function* (count: number) {
  const { scoreRange } = Option.getOrThrow((yield* Environment.Environment).claims)
  for (const { gold, score, wrong } of yield* claimed(count)) yield* Laws.goldOnTop(score, gold, wrong, scoreRange)
})

/** The first items with what is claimed of them. */
export const claimed = (count: number) =>
  Effect.flatMap(Environment.Environment, ({ claims }) =>
    Option.getOrThrow(claims).items.pipe(Stream.take(count), Stream.runCollect)
  )

/** The laws of scoring for the first item and a group of any texts. */
export const lawsHold = Effect.fnUntraced(function* (group: ReadonlyArray<Trajectory.Trajectory>) {
  const { scoreRange } = Option.getOrThrow((yield* Environment.Environment).claims)
  for (const { gold, score, wrong } of yield* claimed(1)) {
    yield* Laws.inRange(score, group, scoreRange)
    yield* Laws.permutation(score, group, Array.from(group.keys()).toReversed())
    yield* Laws.determinism(score, group)
    yield* Laws.goldOnTop(score, gold, wrong, scoreRange)
  }
})

/** Scores of the first group of training rollouts. */
export const firstScores = Effect.flatMap(Environment.Environment, ({ groups }) =>
  groups.pipe(
    Stream.take(1),
    Stream.runCollect,
    Effect.map(([group]) => Array.from(group?.scores ?? []))
  )
)

/** A policy that says back all that it was told. */
export const echo = (request: ServerManager.ScriptedRequest): string =>
  "prompt" in request ? request.prompt : request.messages.map(Message.text).join("\n")

/** Scores of the first groups of training rollouts. */
export const scoresOf = (groups: number) =>
  Effect.flatMap(Environment.Environment, (environment) =>
    environment.groups.pipe(
      Stream.take(groups),
      Stream.map(({ scores }) => Array.from(scores)),
      Stream.runCollect,
      Effect.map((lists) => lists.flat())
    )
  )
