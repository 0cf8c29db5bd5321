/** An environment killed again and again: it goes on at its cursor, no item is lost and no group comes twice. */
import { NodeServices } from "@effect/platform-node"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Random } from "effect"
import * as Atropos from "./Atropos.ts"
import * as Service from "./Service.ts"
import * as Stories from "./Stories.ts"

// On one database: packages/api/test has every kind keep what environments save.
it.live("an environment that is killed goes on at its cursor: no item lost, no group twice", () =>
  Effect.gen(function* () {
    const service = yield* Service.start(yield* Service.fastest.make, yield* Atropos.freePort)
    yield* service.client.registerRun(Stories.run)
    const cwd = yield* Atropos.folder
    const got: Stories.Got = { steps: [], stories: [] }
    const training = yield* Effect.forkChild(Stories.train(service.client, got))

    let killAt = 0
    let victim: Atropos.Running | undefined
    // The first life stops at these, so that a cursor is saved before all stories are told, however fast the machine.
    const beforeSaving = 12
    const saved = Promise.withResolvers<void>()
    const policy = yield* Stories.policy((count) => {
      if (count === killAt) victim?.killNow()
      return count > beforeSaving ? saved.promise : undefined
    })
    const where = { serviceUrl: service.url, policyUrl: policy.url, cwd }

    // In the midst of rollouts: some are under way, others delivered and not yet written down in the cursor.
    const killAfter = Effect.fnUntraced(function* (environment: Atropos.Running, least: number, most: number) {
      victim = environment
      killAt = policy.asked.length + (yield* Random.nextIntBetween(least, most))
      saved.resolve()
      const { signal } = yield* environment.ended
      assert.strictEqual(signal, "SIGKILL")
    })
    const first = yield* Stories.serve(where)
    yield* Effect.repeat(Effect.delay(Stories.savedFrontier(service.client), "20 millis"), {
      until: (frontier) => frontier > 0
    })
    yield* killAfter(first, 1, 4)
    // Dead before it has saved anything.
    yield* killAfter(yield* Stories.serve(where), 4, 8)
    killAt = 0
    const last = yield* Stories.serve(where)
    yield* Fiber.join(training)
    const { code, out } = yield* last.ended
    assert.strictEqual(code, 0)
    const [, frontier] = yield* last.says(/resuming \{ savedAtStep: \d+, frontier: (\d+) \}/)
    assert.isAbove(Number(frontier), 0)
    Stories.check(got)
    // What lies before the cursor was not rolled out again.
    assert.isAtMost(Number(/items +succeeded (\d+)/.exec(out)?.[1]), Stories.stories - Number(frontier))
  }).pipe(Random.withSeed(1), Effect.scoped, Effect.provide(NodeServices.layer))
)
