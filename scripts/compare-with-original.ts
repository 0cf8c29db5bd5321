/**
 * Sends the same random requests to the original's server and to ours, and prints the differing responses.
 *
 *     node --conditions=atropos-src scripts/compare-with-original.ts <original's port> <our port> [sequences] [seed]
 *
 * Both must run on this machine without valuable data: they are reset repeatedly. Two kinds of sequences: sessions
 * (register, submit, poll, ask), whose differences by design are ignored (`Comparison`), with group sizes that the
 * original can pack; and bodies of every endpoint, valid ones with one change, where ours may reject more, by the
 * listed rules.
 */
import { Array, Console, Effect, Random } from "effect"
import { type Answer, Comparison, send, type Step } from "../packages/api/test/v0/Replay.ts"

type Request = Pick<Step, "method" | "path" | "body">

const [original = 8000, ours = 8001, sequences = 100, seed = 1] = process.argv.slice(2).map(Number)

const pick = <A>(choices: ReadonlyArray<A>) =>
  // The index is within the list.
  Effect.map(Random.nextIntBetween(0, choices.length - 1), (index) => choices[index]!)

const group = (tag: number, size: number) => ({
  tokens: Array.makeBy(size, (i) => [tag, i]),
  masks: Array.makeBy(size, (i) => [-100, i]),
  scores: Array.makeBy(size, (i) => i / 2)
})

const registration = (batchSize: number): Request => ({
  method: "POST",
  path: "/register",
  body: {
    wandb_group: "g",
    wandb_project: "p",
    batch_size: batchSize,
    max_token_len: 512,
    checkpoint_dir: "/c",
    save_checkpoint_interval: 5,
    starting_step: 3,
    num_steps: 100
  }
})
const get = (path: string, body?: unknown): Request => ({ method: "GET", path, ...(body !== undefined && { body }) })
const post = (path: string, body: unknown): Request => ({ method: "POST", path, body })

/** A session: one trainer, up to three environments with one group size. */
const session = Effect.gen(function* () {
  const size = yield* pick([1, 2, 4])
  const environments = yield* Random.nextIntBetween(1, 3)
  const submission = Effect.gen(function* () {
    const id = yield* Random.nextIntBetween(0, environments - 1)
    return { ...group(yield* Random.nextIntBetween(0, 1_000_000), size), env_id: id }
  })
  const next: Effect.Effect<Request> = Effect.flatMap(Random.nextIntBetween(0, 9), (kind) => {
    if (kind < 4) return Effect.map(submission, (one) => post("/scored_data", one))
    if (kind === 4) return Effect.map(Effect.all([submission, submission]), (two) => post("/scored_data_list", two))
    if (kind === 5) return Effect.succeed(get("/status"))
    if (kind === 6) {
      return Effect.map(Random.nextIntBetween(0, environments - 1), (env_id) => get("/status-env", { env_id }))
    }
    return kind === 7
      ? pick([get("/info"), get("/wandb_info"), get("/latest_example"), post("/register", registration(2).body)])
      : Effect.succeed(get("/batch"))
  })
  const requests = yield* Effect.replicateEffect(next, 40)
  const joined = Array.makeBy(environments, (i) =>
    post("/register-env", {
      max_token_length: 64 * (i + 1),
      desired_name: `n${i % 2}`,
      weight: 1 + i,
      group_size: size
    })
  )
  return [registration(8), get("/batch"), ...joined, ...requests]
})

const oddValues: ReadonlyArray<unknown> = [
  null,
  true,
  0,
  -1,
  1.5,
  2147483648,
  1e20,
  "1",
  " 2_0 ",
  "1.0",
  "x",
  "",
  "nan",
  [],
  {},
  [[]],
  [1],
  [null],
  [["1"]],
  [[1.5]],
  [[{}]],
  [[{ role: "user", content: null }]],
  [[{ role: "user" }]],
  [{}]
]

const nested = (value: unknown, depth: number): unknown =>
  depth === 0 ? value : [nested(value, depth - 1), nested(value, depth - 1)]

/** A valid group with one key, or one value inside, replaced. */
const oddBody = Effect.gen(function* () {
  const right = group(1, 2)
  const key = yield* pick([
    ...Object.keys(right),
    "advantages",
    "ref_logprobs",
    "messages",
    "generation_params",
    "inference_logprobs",
    "overrides",
    "group_overrides",
    "images",
    "env_id",
    "distill_token_ids",
    "distill_logprobs",
    "unknown"
  ])
  const value = yield* pick(oddValues)
  const depth = yield* Random.nextIntBetween(0, 2)
  const body = { ...right, [key]: nested(value, depth) }
  return (yield* Random.nextBoolean) ? post("/scored_data", body) : post("/scored_data_list", [right, body])
})

const bodies: ReadonlyArray<Request & { readonly body: object }> = [
  { method: "POST", path: "/register", body: Object(registration(8).body) },
  {
    method: "POST",
    path: "/register-env",
    body: { max_token_length: 64, desired_name: "n", weight: 1, group_size: 2, min_batch_allocation: null }
  },
  { method: "POST", path: "/disconnect-env", body: { env_id: 0 } },
  { method: "GET", path: "/status-env", body: { env_id: 0 } }
]

/** A valid body of another endpoint with one key replaced or removed, or a different value altogether. */
const oddRequest = Effect.gen(function* () {
  const right = yield* pick(bodies)
  const key = yield* pick([...Object.keys(right.body), "unknown"])
  const value = yield* pick([undefined, ...oddValues])
  return { ...right, body: (yield* Random.nextIntBetween(0, 9)) === 0 ? value : { ...right.body, [key]: value } }
})

const ask = (port: number, request: Request) => Effect.promise(() => send(port, "", request))

const both = (request: Request): Effect.Effect<readonly [Step, Answer]> =>
  Effect.map(Effect.all([ask(original, request), ask(ours, request)]), ([theirs, answer]) => [
    { ...request, ...theirs },
    answer
  ])

const reset = Effect.all([ask(original, get("/reset_data")), ask(ours, get("/reset_data"))])

const compareSession = Effect.gen(function* () {
  yield* reset
  const comparison = new Comparison()
  for (const [index, request] of (yield* session).entries()) {
    const [step, answer] = yield* both(request)
    comparison.step(index, step, answer)
  }
  return comparison.differences
})

/** Our rules that the original does not have. */
const stricter: ReadonlySet<unknown> = new Set([
  "finite_number",
  "length_mismatch",
  "greater_than_equal",
  "less_than_equal",
  "recursion_loop"
])

const isStricter = ({ response }: Answer): boolean => {
  const detail = typeof response === "object" && response !== null && "detail" in response ? response.detail : undefined
  return (
    globalThis.Array.isArray(detail) &&
    detail.every((mistake: { readonly type: unknown }) => stricter.has(mistake.type))
  )
}

/** The response as text, with any `uuid` replaced. */
const withoutRandom = (response: unknown): string =>
  JSON.stringify(response, (key, value: unknown) => (key === "uuid" && typeof value === "number" ? 0 : value))

/** A run that has started, with one environment, on both. */
const begin = Effect.gen(function* () {
  yield* reset
  for (const request of [registration(8), get("/batch"), bodies[1]!]) yield* both(request)
})

const compareBody = Effect.fnUntraced(function* (request: Request) {
  const [step, answer] = yield* both(request)
  if (step.status === 500 && answer.status < 500) return []
  if (step.status === 200 && answer.status === 422 && isStricter(answer)) return []
  return step.status === answer.status && withoutRandom(step.response) === withoutRandom(answer.response)
    ? []
    : [
        `${step.path} ${JSON.stringify(step.body)}\n  original ${step.status} ${JSON.stringify(step.response)}\n  ours     ${answer.status} ${JSON.stringify(answer.response)}`
      ]
})

const program = Effect.gen(function* () {
  const sessions = yield* Effect.replicateEffect(compareSession, sequences)
  yield* reset
  const groups = yield* Effect.replicateEffect(Effect.flatMap(oddBody, compareBody), sequences * 10)
  const others = yield* Effect.replicateEffect(
    Effect.andThen(begin, Effect.flatMap(oddRequest, compareBody)),
    sequences * 2
  )
  yield* reset
  const differences = [...sessions, ...groups, ...others].flat()
  yield* Effect.forEach(differences.slice(0, 50), (difference) => Console.log(difference), { discard: true })
  yield* Console.log(`${sequences} sessions, ${sequences * 12} bodies, seed ${seed}: ${differences.length} differences`)
})

await Effect.runPromise(program.pipe(Random.withSeed(seed)))
