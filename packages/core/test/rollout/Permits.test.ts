import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Schema } from "effect"
import { TestClock } from "effect/testing"
import * as Permits from "../../src/rollout/Permits.ts"
import * as StalenessBound from "../../src/service/StalenessBound.ts"
import { TrajectoryError } from "../../src/service/TrajectoryError.ts"

type Request = Parameters<Parameters<typeof Permits.make>[0]["ask"]>[0]

/** Leave from a service that answers when it is told to; all requests are noted. */
const asking = Effect.fnUntraced(function* () {
  const requests: Array<Request> = []
  let answers: Array<Deferred.Deferred<number, TrajectoryError>> = []
  let registered = 0
  const permits = Permits.make({
    registered: () => registered,
    ask: (request) =>
      Effect.suspend(() => {
        requests.push(request)
        const answer = Deferred.makeUnsafe<number, TrajectoryError>()
        answers.push(answer)
        return Deferred.await(answer)
      }),
    onGranted: () => {}
  })
  yield* Effect.forkScoped(permits.run)
  const settled = TestClock.adjust(0)
  return {
    permits,
    requests,
    settled,
    register: () => registered++,
    answer: (granted: number) =>
      Effect.andThen(
        Effect.suspend(() => Deferred.succeed(answers.shift()!, granted)),
        settled
      ),
    fail: Effect.suspend(() => {
      const error = new TrajectoryError({ reason: "unreachable", message: "away" })
      return Effect.andThen(Deferred.fail(answers.shift()!, error), settled)
    })
  }
})

const roller = (underWay: number): StalenessBound.Roller => ({
  groupSize: 2,
  underWay,
  weight: 1,
  maxTokenLength: 9,
  minBatchAllocation: null
})

const Moves = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5999 }))).check(
  Schema.isMinLength(200),
  Schema.isMaxLength(600)
)

describe("Permits", () => {
  it.effect("leave as many as all else allows where nobody waits, and ask nobody", () =>
    Effect.gen(function* () {
      const { permits, requests, settled } = yield* asking()
      permits.update(undefined)
      assert.strictEqual(permits.within(7, 3), 7)
      yield* settled
      assert.deepStrictEqual(requests, [])
    }).pipe(Effect.scoped)
  )

  it.effect("are asked for, used, told of when less is under way, and given back when they are of no use", () =>
    Effect.gen(function* () {
      const { answer, permits, requests, settled } = yield* asking()
      permits.update(8)
      assert.strictEqual(permits.within(5, 0), 0)
      yield* settled
      yield* answer(2)
      assert.strictEqual(permits.within(5, 0), 2)
      permits.begun()
      assert.strictEqual(permits.within(4, 1), 1)
      // It was answered for.
      assert.strictEqual(permits.within(4, 0), 1)
      yield* settled
      yield* answer(0)
      assert.strictEqual(permits.within(0, 0), 0)
      yield* settled
      assert.deepStrictEqual(requests, [
        { underWay: 0, more: 5 },
        { underWay: 1, more: 3 },
        { underWay: 0, more: 0 }
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("that were refused are asked for when there may be some, and every five seconds", () =>
    Effect.gen(function* () {
      const { answer, permits, requests, settled } = yield* asking()
      permits.update(0)
      permits.within(5, 0)
      yield* settled
      yield* answer(0)
      permits.within(5, 0)
      yield* TestClock.adjust("4 seconds")
      assert.strictEqual(requests.length, 1)
      permits.update(4)
      yield* settled
      assert.strictEqual(requests.length, 2)
      yield* answer(0)
      yield* TestClock.adjust("5 seconds")
      assert.strictEqual(requests.length, 3)
      yield* answer(1)
      assert.strictEqual(permits.within(5, 0), 1)
    }).pipe(Effect.scoped)
  )

  it.effect("are asked for again after the service was away, and where it has forgotten what it was told", () =>
    Effect.gen(function* () {
      const { answer, fail, permits, register, requests, settled } = yield* asking()
      permits.update(8)
      permits.within(1, 0)
      yield* settled
      yield* fail
      yield* TestClock.adjust("1 second")
      yield* answer(1)
      permits.within(1, 0)
      permits.begun()
      permits.within(0, 1)
      yield* settled
      assert.strictEqual(requests.length, 2)
      register()
      permits.within(0, 1)
      yield* settled
      assert.deepStrictEqual(requests[2], { underWay: 1, more: 0 })
    }).pipe(Effect.scoped)
  )

  it.effect.prop(
    "of several environments keep the bound, whenever requests and answers arrive, and let training go on",
    [Moves],
    ([moves]) =>
      Effect.gen(function* () {
        const groups = 3
        const count = 2
        const environments = Array.from({ length: count }, () => ({ underWay: 0, running: [] as Array<number> }))
        let queue: ReadonlyArray<{ readonly by: number; readonly version: number }> = []
        let [isTraining, version] = [false, 0]
        const run = (): StalenessBound.BoundedRun => ({
          maxStaleness: 0,
          batchSize: 2 * groups,
          untrained: isTraining ? 1 : 0,
          queued: environments.map((_, at) => ({ sequences: 2, groups: queue.filter(({ by }) => by === at).length }))
        })
        let later = 1
        const pause = Effect.suspend(() => Effect.sleep((later = (later * 7) % 31)))
        const pools = yield* Effect.forEach(environments, (environment, at) =>
          Effect.gen(function* () {
            const permits = Permits.make({
              registered: () => 0,
              ask: ({ more, underWay }) =>
                Effect.gen(function* () {
                  yield* pause
                  const others = environments.filter((other) => other !== environment)
                  const granted = StalenessBound.granted(
                    run(),
                    roller(underWay),
                    others.map((other) => roller(other.underWay)),
                    more
                  )
                  environment.underWay = underWay + granted
                  yield* pause
                  return granted
                }),
              onGranted: () => {}
            })
            yield* Effect.forkScoped(permits.run)
            permits.update(2 * groups)
            return { permits, at, running: environment.running }
          })
        )
        const work = (pool: (typeof pools)[number], usual: number) => {
          while (pool.permits.within(usual - pool.running.length, pool.running.length) > 0) {
            pool.running.push(version)
            pool.permits.begun()
          }
        }
        const finish = (pool: (typeof pools)[number], choice: number) => {
          const [sampled] = pool.running.splice(choice % Math.max(1, pool.running.length), 1)
          if (sampled !== undefined) queue = [...queue, { by: pool.at, version: sampled }]
        }
        const train = () => {
          if (isTraining) {
            isTraining = false
            version++
          } else if (queue.length >= groups) {
            isTraining = true
            assert.isTrue(queue.slice(0, groups).every((one) => one.version === version))
            queue = queue.slice(groups)
          }
        }
        for (const move of moves) {
          const [kind, choice] = [move % 6, Math.floor(move / 6)]
          const pool = pools[choice % count]!
          if (kind < 2) work(pool, choice % 5)
          if (kind === 2) finish(pool, choice)
          if (kind === 3) train()
          if (kind === 4) yield* TestClock.adjust(choice % 40)
          if (kind === 5) pool.permits.update(choice % 3)
        }
        // Whatever happened before, it goes on.
        const before = version
        for (let i = 0; i < 40; i++) {
          for (const pool of pools) {
            work(pool, 4)
            finish(pool, 0)
            work(pool, 4)
          }
          train()
          yield* TestClock.adjust("6 seconds")
        }
        assert.isAbove(version, before + 3)
      }).pipe(Effect.scoped)
  )
})
