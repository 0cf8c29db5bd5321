/**
 * Reads the body of `POST /s/<secret>/reward`.
 *
 *     { "reward": 0.7 }
 *     { "rewards": { "correct": 1, "format": 0.5 }, "turn": 0 }
 *
 * A single number is the component `reward`. `turn` is the index of an answer, or its id in the dialect; without it the
 * reward is the session's. Values must be finite.
 */
import { Effect, Predicate } from "effect"
import { Failure } from "../dialect/Dialect.ts"
import * as RewardComponents from "../../reward/RewardComponents.ts"
import type { ReportedReward } from "./Session.ts"

const known = new Set(["reward", "rewards", "turn"])

const wrong = (param: string | undefined, message: string) =>
  new Failure({
    reason: "invalid",
    message: param === undefined ? message : `${param}: ${message}`,
    ...(param !== undefined && { param })
  })

const right = `send {"reward": 0.7} or {"rewards": {"correct": 1, "format": 0.5}}, with "turn" for one answer`

/** `ids`: those of the session's answers, in order. */
export const decode = Effect.fnUntraced(function* (body: unknown, ids: ReadonlyArray<string>) {
  if (!Predicate.isReadonlyObject(body)) return yield* wrong(undefined, `the body must be a JSON object: ${right}`)
  const foreign = Object.keys(body).find((key) => !known.has(key))
  if (foreign !== undefined) return yield* wrong(foreign, `unknown key: ${right}`)
  const { reward, rewards, turn } = body
  if (reward !== undefined && rewards !== undefined) {
    return yield* wrong("reward", `either "reward" or "rewards", not both: ${right}`)
  }
  if (reward === undefined && rewards === undefined) {
    return yield* wrong("reward", `"reward" or "rewards" is required: ${right}`)
  }
  const components = yield* reward === undefined ? componentsOf(rewards) : componentsOf({ reward }, "")
  if (turn === undefined || turn === null) return { rewards: components } satisfies ReportedReward
  return { rewards: components, turn: yield* turnOf(turn, ids) } satisfies ReportedReward
})

const componentsOf = Effect.fnUntraced(function* (value: unknown, prefix = "rewards.") {
  if (!Predicate.isReadonlyObject(value)) return yield* wrong("rewards", `must be an object of numbers: ${right}`)
  const entries = Object.entries(value)
  if (entries.length === 0) return yield* wrong("rewards", `must have at least one component: ${right}`)
  for (const [name, figure] of entries) {
    if (typeof figure !== "number" || !RewardComponents.isUsable(figure)) {
      return yield* wrong(
        `${prefix}${name}`,
        `must be a finite float32 number (up to 3.4e38), got ${describeValue(figure)}`
      )
    }
  }
  const fault = RewardComponents.faultOf(value)
  if (fault !== undefined) return yield* wrong("rewards", fault)
  // Not by assignment, which would treat a component called __proto__ specially.
  return Object.fromEntries(entries) as RewardComponents.Rewards
})

const turnOf = Effect.fnUntraced(function* (turn: unknown, ids: ReadonlyArray<string>) {
  const index =
    typeof turn === "string"
      ? ids.findIndex((id) => id !== "" && (turn === id || turn.endsWith(`-${id}`) || turn.endsWith(`_${id}`)))
      : turn
  if (typeof index === "number" && Number.isSafeInteger(index) && index >= 0 && index < ids.length) return index
  const there =
    ids.length === 0
      ? "this session has no answer yet"
      : `an index from 0 to ${ids.length - 1}, or the id of an answer of this session, is required`
  return yield* wrong("turn", `${there}; got ${describeValue(turn)}`)
})

const describeValue = (value: unknown): string => {
  // JSON has no infinity: a number beyond float64 would read as null.
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "nothing")
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
