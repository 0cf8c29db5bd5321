/**
 * Kills services and environments at random moments, for what `crash/` may have overlooked. Outside of the build, as
 * the same moment is another one on another machine: `npm run test:nightly -- Kills` runs it, `KILLS_SEED` sets the
 * seed (by default a new one) and `KILLS_ROUNDS` the number of kills. Every moment is printed before it comes.
 */
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Random } from "effect"
import * as Ports from "../../../core/test/base/Ports.ts"
import * as Atropos from "../crash/Atropos.ts"
import * as Service from "../crash/Service.ts"
import * as Stories from "../crash/Stories.ts"

const { KILLS_ROUNDS: rounds = "12", KILLS_SEED: seed = String(Date.now() % 1_000_000) } = process.env

it.live(`a service and an environment that are killed ${rounds} times lose nothing: KILLS_SEED=${seed}`, () =>
  Effect.gen(function* () {
    const place = yield* (yield* Random.choice(Service.databases)).make
    const port = yield* Ports.held
    const got: Stories.Got = { steps: [], stories: [] }
    const policy = yield* Stories.policy()
    const cwd = yield* Atropos.folder
    let service = yield* Service.start(place, { port })
    yield* service.client.registerRun(Stories.run)
    const where = { serviceUrl: service.url, policyUrl: policy.url, cwd }
    const training = yield* Effect.forkChild(Stories.train(service.client, got))
    let environment = yield* Stories.serve(where)
    for (let round = 1; round <= Number(rounds) && got.steps.length < Stories.steps; round++) {
      const isService = yield* Random.nextBoolean
      const millis = yield* Random.nextIntBetween(0, 3000)
      console.log(`seed ${seed}, round ${round}: ${isService ? "the service" : "the environment"} after ${millis} ms`)
      yield* Effect.sleep(millis)
      if (isService) {
        yield* service.process.kill
        service = yield* Service.start(place, { port })
      } else {
        yield* environment.kill
        environment = yield* Stories.serve(where)
      }
    }
    yield* Fiber.join(training)
    assert.strictEqual((yield* environment.ended).code, 0, environment.said())
    Stories.check(got)
  }).pipe(
    Random.withSeed(Number(seed)),
    Effect.scoped,
    Effect.provide(Layer.merge(NodeServices.layer, NodeHttpClient.layerUndici))
  )
)
