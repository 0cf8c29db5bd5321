/**
 * An environment of programs, killed while they wait for its gateway: its items are rolled out again, none comes twice,
 * and neither processes nor working folders are left.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import type { ScoredGroup, TrajectoryApi } from "@atropos/core"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, FileSystem, Schedule } from "effect"
import { execFileSync } from "node:child_process"
import { fileURLToPath } from "node:url"
import { bytes } from "../../../core/src/inference/tokenizer/Tokenizer.ts"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as Atropos from "../crash/Atropos.ts"
import type * as KillMoment from "../crash/KillMoment.ts"
import * as Service from "../crash/Service.ts"
import * as Stories from "../crash/Stories.ts"

const agent = fileURLToPath(new URL("agent.mjs", import.meta.url))
const groupSize = 2
const groupsPerBatch = 2
const steps = 6
const items = steps * groupsPerBatch

const run: TrajectoryApi.RunSpec = { ...Stories.run, batchSize: groupsPerBatch * groupSize, numSteps: steps }

/** The number of the item that a group is about. */
const itemOf = ({ tokens }: ScoredGroup.ScoredGroup): number =>
  Number(/item (\d+)\./.exec(bytes.decode(tokens[0]!))?.[1])

/** One life for each. */
const kills: ReadonlyArray<KillMoment.KillMoment> = [
  // Programs wait for the answers of their second turns, others for those of their first.
  { of: "answered", when: "before", what: /^POST .*\/chat\/completions$/, nth: 8 },
  // A group is delivered, and the programs of others run.
  { of: "asked", when: "after", what: /^POST .*\/groups$/, nth: 2 }
]

const serve = (serviceUrl: string, policyUrl: string, cwd: string, killAt?: KillMoment.KillMoment) =>
  Atropos.start(
    [
      "serve --env command --env.items tasks.jsonl --env.test_items tasks.jsonl",
      `--env.group_size ${groupSize} --env.total_steps ${steps} --env.tokenizer_name bytes`,
      "--env.max_num_workers 3 --env.max_batches_offpolicy 4",
      "--env.ensure_scores_are_not_same false --env.steps_per_eval 0",
      `--env.rollout_server_url ${serviceUrl} --openai.base_url ${policyUrl}/v1`
    ]
      .flatMap((line) => line.split(" "))
      .concat("--env.command", `'${process.execPath}' '${agent}'`),
    { cwd, env: { TMPDIR: `${cwd}/tmp` }, ...(killAt && { killAt }) }
  )

/** Processes of the agents that carry this mark. */
const processesWith = (mark: number): ReadonlyArray<string> =>
  execFileSync("ps", ["-axo", "pid=,command="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => line.includes(`sleep ${mark}`) || line.includes(agent))

it.live(
  "an environment of programs that is killed goes on at its cursor: no item lost, none twice, no process left",
  () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const service = yield* Service.startHere(yield* Service.fastest.make)
      yield* service.client.registerRun(run)
      const cwd = yield* Atropos.folder
      yield* fs.makeDirectory(`${cwd}/tmp`)
      const mark = 700_000_000 + process.pid
      const rows = Array.from({ length: items }, (_, number) => `${JSON.stringify({ number, mark })}\n`)
      yield* fs.writeFileString(`${cwd}/tasks.jsonl`, rows.join(""))
      const got: Stories.Got = { steps: [], stories: [] }
      const training = yield* Effect.forkChild(Stories.train(service.client, got, steps, itemOf))

      const policy = yield* TestServer.make(({ path }) =>
        path.endsWith("/chat/completions") ? TestServer.chatReply(["as you say"]) : { json: { data: [] } }
      )
      for (const killAt of kills) {
        yield* (yield* serve(service.url, policy.url, cwd, killAt)).killed
        // What ends them notices it, and takes as long as the machine is busy.
        yield* Effect.repeat(
          Effect.sync(() => processesWith(mark)),
          { schedule: Schedule.spaced("50 millis"), until: (processes) => processes.length === 0 }
        )
      }
      const last = yield* serve(service.url, policy.url, cwd)
      yield* Fiber.join(training)
      const { code } = yield* last.ended
      assert.strictEqual(code, 0, last.said())
      Stories.check(got, items)
      assert.deepStrictEqual(processesWith(mark), [])
      const folders = yield* fs.readDirectory(`${cwd}/tmp`)
      assert.deepStrictEqual(
        folders.filter((name) => name.startsWith("atropos-program-")),
        []
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
