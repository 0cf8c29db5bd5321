/**
 * The service killed and started again while an environment runs: the environment spools, survives, and nothing is
 * lost.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import { readdir } from "node:fs/promises"
import * as Atropos from "../../crash/Atropos.ts"
import * as Disk from "../../crash/Disk.ts"
import * as Ports from "../../../../core/test/base/Ports.ts"
import * as Service from "../../crash/Service.ts"
import * as Stories from "../../crash/Stories.ts"

/** Segments in the spool. */
const spooled = (folder: string) =>
  Effect.promise(async () => (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".spool")))

const outage = Effect.fnUntraced(function* (
  spool: string,
  whileAway: (environment: Atropos.Running) => Effect.Effect<unknown>
) {
  const place = yield* Service.fastest.make
  const port = yield* Ports.held
  // It has what it was sent then, and nobody knows.
  const killAt = { of: "answered", when: "before", what: /^POST .*\/groups$/, nth: 3 } as const
  const service = yield* Service.start(place, { port, killAt })
  yield* service.client.registerRun(Stories.run)
  const policy = yield* Stories.policy()
  const got: Stories.Got = { steps: [], stories: [] }
  const training = yield* Effect.forkChild(Stories.train(service.client, got))
  const environment = yield* Stories.serve({
    serviceUrl: service.url,
    policyUrl: policy.url,
    cwd: yield* Atropos.folder,
    spool
  })

  yield* service.process.killed
  yield* environment.says("trajectory service is unreachable; spooling")
  yield* whileAway(environment)
  yield* Service.startHere(place, { port })
  yield* environment.says("trajectory service is back")

  yield* Fiber.join(training)
  const { code } = yield* environment.ended
  assert.strictEqual(code, 0)
  Stories.check(got)
  // The environment lived on: nothing was rolled out twice.
  assert.strictEqual(policy.asked.length, Stories.stories)
})

it.live(
  "an environment outlives its service: what it makes meanwhile is spooled, sent later, and rolled out once",
  () =>
    Effect.gen(function* () {
      const spool = yield* Atropos.folder
      const isSpooled = Effect.repeat(spooled(spool), {
        until: (files) => files.length > 0,
        schedule: Schedule.spaced("20 millis")
      })
      yield* outage(spool, () => isSpooled)
      assert.deepStrictEqual(yield* spooled(spool), [])
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)

it.live.skipIf(Disk.reason !== undefined)(
  `with a full disk the groups stay in memory, said with the reason, and none is lost${Disk.reason ?? ""}`,
  () =>
    Effect.gen(function* () {
      const spool = yield* Disk.full
      yield* outage(spool, (environment) =>
        environment.says(
          /groups could not be spooled; keeping them in memory[^]*no space left on device[^]*Free disk space/i
        )
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
