/** An environment killed again and again: it goes on at its cursor, no item is lost and no group comes twice. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Schedule } from "effect"
import * as InProcess from "../InProcess.ts"
import type * as KillMoment from "./KillMoment.ts"
import * as Service from "./Service.ts"
import * as Stories from "./Stories.ts"

/** Stories that are answered in the first life; those after them are under way when it ends. */
const answered = 12

/** The lives after the first one end so. */
const kills: ReadonlyArray<KillMoment.KillMoment> = [
  // Rolled out, and sent nowhere.
  { of: "asked", when: "before", what: /^POST .*\/groups$/ },
  // Delivered, and in no cursor that is saved.
  { of: "asked", when: "after", what: /^POST .*\/groups$/, nth: 2 }
]

// On one database: packages/api/test has every kind keep what environments save.
it.live("an environment that is killed goes on at its cursor: no item lost, no group twice", () =>
  Effect.gen(function* () {
    const service = yield* Service.startHere(yield* Service.fastest.make)
    yield* service.client.registerRun(Stories.run)
    const cwd = yield* InProcess.folder
    const got: Stories.Got = { steps: [], stories: [] }
    const training = yield* Effect.forkChild(Stories.train(service.client, got))
    const isDead = Promise.withResolvers<void>()
    const policy = yield* Stories.policy((count) => (count > answered ? isDead.promise : undefined))
    const where = { serviceUrl: service.url, policyUrl: policy.url, cwd }

    const first = yield* Stories.serve(where)
    yield* Effect.repeat(Stories.savedFrontier(service.client), {
      until: (frontier) => frontier > 0,
      schedule: Schedule.spaced("20 millis")
    })
    yield* first.kill
    isDead.resolve()
    for (const killAt of kills) yield* (yield* Stories.serve({ ...where, killAt })).killed
    const { code, stderr, stdout } = yield* InProcess.run(Stories.serving(where))
    yield* Fiber.join(training)
    assert.strictEqual(code, 0)
    const frontier = Number(/resuming \{ savedAtStep: \d+, frontier: (\d+) \}/.exec(stdout + stderr)?.[1])
    assert.isAbove(frontier, 0)
    Stories.check(got)
    // What lies before the cursor was not rolled out again.
    assert.isAtMost(Number(/items +succeeded (\d+)/.exec(stdout)?.[1]), Stories.stories - frontier)
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
)
