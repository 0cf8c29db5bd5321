/** `atropos serve --env arithmetic-stories` as a process, and which of its stories a trainer got. */
import type { ScoredGroup, TrajectoryApi, TrajectoryClient } from "@atropos/core"
import { bytes } from "../../../core/src/inference/tokenizer/Tokenizer.ts"
import { ArithmeticStories } from "@atropos/envs"
import { assert } from "@effect/vitest"
import { Effect, Option, Schedule } from "effect"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as Atropos from "./Atropos.ts"
import type * as KillMoment from "./KillMoment.ts"

/** Groups of a run. */
export const groupSize = 2
/** Batches of a run. */
export const steps = 16
const groupsPerBatch = 2
/** Stories of a run: with so many steps neither more nor fewer are told. */
export const stories = steps * groupsPerBatch

export const run: TrajectoryApi.RunSpec = {
  name: "default",
  batchSize: groupsPerBatch * groupSize,
  maxTokenLength: 4096,
  startingStep: 0,
  numSteps: steps,
  checkpointDir: "",
  saveCheckpointInterval: -1,
  wandbGroup: "",
  wandbProject: ""
}

/** An inference server; `onRequest` gets the number of each request as it comes, and may hold it. */
export const policy = (onRequest: (count: number) => void | Promise<void> = () => {}) =>
  TestServer.make(async ({ body, path }, count) => {
    if (!path.endsWith("/chat/completions")) return { json: { data: [] } }
    await onRequest(count)
    const n = Number(body["n"] ?? 1)
    return TestServer.chatReply(Array.from({ length: n }, (_, i) => `I think it is \\boxed{${i}}`))
  })

export interface Where {
  readonly serviceUrl: string
  readonly policyUrl: string
  readonly spool?: string
}

/** The command that runs the environment against a service and an inference server. */
export const serving = ({ policyUrl, serviceUrl, spool }: Where): ReadonlyArray<string> =>
  [
    "serve --env arithmetic-stories",
    `--env.group_size ${groupSize} --env.total_steps ${steps}`,
    "--env.max_num_workers 3 --env.max_batches_offpolicy 4",
    "--env.ensure_scores_are_not_same false --env.steps_per_eval 0",
    `--env.rollout_server_url ${serviceUrl} --openai.base_url ${policyUrl}/v1`,
    spool === undefined ? "" : `--spool ${spool}`
  ].flatMap((line) => line.split(" ").filter((word) => word !== ""))

/** Starts the environment, or goes on with it. */
export const serve = ({
  cwd,
  killAt,
  ...where
}: Where & { readonly cwd: string; readonly killAt?: KillMoment.KillMoment }) =>
  Atropos.start(serving(where), { cwd, ...(killAt && { killAt }) })

const defaults = ArithmeticStories.settings.complete({})
const numberOf = new Map(
  Array.from({ length: stories }, (_, index) => [ArithmeticStories.story({ ...defaults, index }).question, index])
)

/** The number of the story that a group is about. */
const storyOf = ({ tokens }: ScoredGroup.ScoredGroup): number | undefined => {
  const prompt = bytes.decode(tokens[0]!)
  const question = /<\|im_start\|>user\n(.*?)<\|im_end\|>/s.exec(prompt)?.[1]
  return question === undefined ? undefined : numberOf.get(question)
}

/** What a trainer got. */
export interface Got {
  readonly steps: Array<number>
  readonly stories: Array<number | undefined>
}

/** Takes batches until it has this many; a service that is away is asked again. */
export const train = Effect.fnUntraced(function* (
  client: TrajectoryClient.TrajectoryClient,
  got: Got,
  until: number = steps,
  numberOf: (group: ScoredGroup.ScoredGroup) => number | undefined = storyOf
) {
  while (got.steps.length < until) {
    const claimed = yield* Effect.retry(client.claim({ owner: "trainer", wait: 1000, lease: "10 seconds" }), {
      schedule: Schedule.spaced("50 millis"),
      while: ({ reason }) => reason === "unreachable"
    })
    if (Option.isNone(claimed)) continue
    const { groups, step } = claimed.value
    // Its answer may be lost with the service; a repeated one is accepted.
    const isAcked = yield* Effect.retry(client.ack(claimed.value), {
      schedule: Schedule.spaced("50 millis"),
      while: ({ reason }) => reason === "unreachable"
    }).pipe(
      Effect.as(true),
      // The service was away for longer than the lease: the batch comes again.
      Effect.catchIf(
        ({ reason }) => reason === "leaseLost",
        () => Effect.succeed(false)
      )
    )
    if (!isAcked) continue
    got.steps.push(step)
    got.stories.push(...groups.map(numberOf))
  }
})

/** The story that the environment would go on with, as the service has it. */
export const savedFrontier = (client: TrajectoryClient.TrajectoryClient) =>
  Effect.map(
    client.savedStates.load("arithmetic-stories"),
    Option.match({
      onNone: () => 0,
      // What the environment's checkpoint looks like is its own business, but for this.
      onSome: ({ value }) => (value as { readonly cursor: { readonly frontier: number } }).cursor.frontier
    })
  )

/**
 * The stories of a run are there, each once, and the steps without gaps; a batch whose claim went unanswered comes
 * late.
 */
export const check = (got: Got, count = stories): void => {
  assert.deepStrictEqual(
    [...got.steps].sort((a, b) => a - b),
    got.steps.map((_, index) => index + 1)
  )
  assert.deepStrictEqual(
    [...got.stories].sort((a, b) => Number(a) - Number(b)),
    Array.from({ length: count }, (_, index) => index)
  )
}
