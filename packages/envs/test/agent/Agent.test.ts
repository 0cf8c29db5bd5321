import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Dataset, Environment, ServerManager, Tokenizer } from "@atropos/core"
import { InferenceError } from "@atropos/core/inference/wire/Inference"
import { Cause, Deferred, Effect, Exit, Fiber, FileSystem, Layer, Logger, Option, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import OpenAI from "openai"
import * as Waits from "../../../core/test/base/Waits.ts"
import { defineAgent } from "../../src/agent/Agent.ts"
import type { AgentModel } from "../../src/agent/AgentDefinition.ts"

const client = (model: AgentModel, signal?: AbortSignal) => {
  const openai = new OpenAI({ baseURL: model.baseURL, apiKey: model.apiKey, maxRetries: 0 })
  return async (messages: ReadonlyArray<OpenAI.ChatCompletionMessageParam>): Promise<string> => {
    const answer = await openai.chat.completions.create({ model: model.name, messages: [...messages] }, { signal })
    return answer.choices[0]?.message.content ?? ""
  }
}

const user = (content: string) => ({ role: "user" as const, content })

/** An agent that asks once. */
const ask = ({ item, model }: { readonly item: string; readonly model: AgentModel }) => client(model)([user(item)])

const echo: ServerManager.Script = (request) => {
  const said = "messages" in request ? request.messages.findLast(({ role }) => role === "user")?.content : ""
  return typeof said === "string" ? said : ""
}

const endless = function* () {
  for (let index = 0; ; index++) yield `item ${index}`
}

const sorted = (scores: Iterable<number>) => Array.from(scores).toSorted((one, other) => one - other)

/** Runs with the environment of a layer over a scripted policy. */
const within = <A, E>(
  layer: Layer.Layer<Environment.Environment, unknown, ServerManager.ServerManager | Dataset.Dataset>,
  use: (environment: Environment.EnvironmentShape) => Effect.Effect<A, E>,
  script: ServerManager.Script = echo,
  level: "Error" | "Warn" = "Error"
) =>
  Effect.flatMap(Environment.Environment, use).pipe(
    Effect.provide(
      layer.pipe(Layer.provide([ServerManager.layerScripted(script), Dataset.layer, Tokenizer.layerBytes]))
    ),
    Effect.provideService(References.MinimumLogLevel, level)
  )

const first = ({ work }: Environment.EnvironmentShape) =>
  work(0).pipe(
    Stream.runHead,
    Effect.flatMap((one) => Option.getOrThrow(one).rollOut)
  )

/** How its items fail, those of training and of evaluation. */
const errorOf = (environment: Environment.EnvironmentShape) =>
  Stream.merge(
    environment.work(0).pipe(Stream.map(({ rollOut }) => Effect.asVoid(rollOut))),
    Option.getOrThrow(environment.evaluation).pipe(Stream.map(({ evaluate }) => Effect.asVoid(evaluate)))
  ).pipe(
    Stream.runForEach((one) => Effect.catchTag(one, "Unscorable", () => Effect.void)),
    Effect.flip
  )

describe("defineAgent", () => {
  it.effect("trains on every turn of an agent, with its score", () =>
    within(
      defineAgent({
        name: "two-turns",
        items: () => ["ab"],
        run: async ({ item, model }) => {
          const say = client(model)
          const one = await say([user(item)])
          return say([user(item), { role: "assistant", content: one }, user("again")])
        },
        score: ({ messages, result, trajectory }) => {
          assert.strictEqual(messages.length, 4)
          assert.strictEqual(trajectory.completion, "again")
          return { correct: result === "again" ? 1 : 0, brief: 0.5 }
        }
      })({ groupSize: 2, rewardWeights: { brief: 2 } }),
      (environment) =>
        Effect.map(first(environment), ({ groups: [group] }) => {
          assert.deepStrictEqual(Array.from(group!.scores), [2, 2])
          assert.deepStrictEqual(group!.rewards, [
            { correct: 1, brief: 0.5 },
            { correct: 1, brief: 0.5 }
          ])
          assert.strictEqual(group!.tokens.length, 2)
          // "ab" and "again", each with the end of its turn.
          for (const mask of group!.masks)
            assert.strictEqual(
              mask.reduce((sum, one) => sum + one, 0),
              3 + 6
            )
          assert.isUndefined(group!.overrides?.[0]?.["session"])
        })
    )
  )

  it.effect("leaves runs that fail out of their group, and counts them by their kind", () => {
    let runs = 0
    let answered = 0
    let aborted = false
    return within(
      defineAgent({
        name: "faulty",
        items: () => ["a"],
        run: async (given) => {
          const run = runs++
          if (run === 0) throw new Error("no luck")
          if (run === 1) return "never asked"
          if (run === 2) {
            given.signal.addEventListener("abort", () => {
              aborted = true
            })
          }
          const answer = await ask(given)
          answered++
          return run === 2 ? new Promise<string>(() => {}) : answer
        },
        score: () => runs
      })({ groupSize: 5, sessionTimeout: 60 }),
      (environment) =>
        Effect.gen(function* () {
          const rolling = yield* Effect.forkChild(first(environment))
          yield* Waits.untilTrue("three answers", () => answered === 3)
          yield* TestClock.adjust("1 minute")
          const { groups } = yield* Fiber.join(rolling)
          assert.strictEqual(groups[0]!.scores.length, 2)
          const {
            "agent/failed": failed,
            "agent/silent": silent,
            "agent/threw": threw,
            "agent/timeouts": timeouts
          } = yield* environment.metrics
          assert.deepStrictEqual({ failed, silent, threw, timeouts }, { failed: 3, silent: 1, threw: 1, timeouts: 1 })
          assert.isTrue(aborted)
        })
    )
  })

  it.effect("scores a run that failed where its author says how", () => {
    let runs = 0
    return within(
      defineAgent({
        name: "scored-failures",
        items: () => ["a"],
        run: async (given) => {
          const run = runs++
          const answer = await ask(given)
          if (run === 0) throw new RangeError("too far")
          return answer
        },
        score: () => 1,
        scoreFailure: ({ error, reason }) => {
          assert.instanceOf(error, RangeError)
          assert.match(reason, /RangeError: too far/)
          return -1
        }
      })({ groupSize: 2 }),
      (environment) =>
        Effect.map(first(environment), ({ groups: [group] }) => assert.deepStrictEqual(sorted(group!.scores), [-1, 1]))
    )
  })

  it.effect("tells of an item all of whose runs failed why they did", () =>
    within(
      defineAgent({
        name: "hopeless",
        items: () => ["a"],
        run: () => Promise.reject(new TypeError("nothing works")),
        score: () => 1
      })({ groupSize: 2 }),
      (environment) =>
        Effect.map(Effect.flip(first(environment)), (error) => {
          assert.instanceOf(error, Environment.Unscorable)
          assert.match(error.message, /all 2 runs of the agent failed; last failure: threw TypeError: nothing works/)
        })
    )
  )

  it.effect("the reason of an item without a group is that of the item's runs, whatever failed since", () => {
    let failed = 0
    const { promise, resolve } = Promise.withResolvers<void>()
    const runsOf = new Map<string, number>()
    return within(
      defineAgent({
        name: "mixed",
        items: ["a", "b"],
        run: async ({ item, model }) => {
          const run = runsOf.get(item) ?? 0
          runsOf.set(item, run + 1)
          const text = await client(model)([user(item)])
          // The second run of "a" ends well, after all others have failed.
          if (item === "a" && run === 1) {
            await promise
            return text
          }
          if (item === "b") await Promise.resolve().then(() => (++failed === 2 ? resolve() : undefined))
          throw new Error(`${item} is broken`)
        },
        score: () => 1
      })({ groupSize: 2 }),
      (environment) =>
        Effect.gen(function* () {
          const [one, other] = yield* Stream.runCollect(Stream.take(environment.work(0), 2))
          const errors = yield* Effect.all([Effect.flip(one!.rollOut), Effect.flip(other!.rollOut)], {
            concurrency: 2
          })
          const messages = errors.map(({ message }) => message).toSorted()
          assert.match(messages[0]!, /all 2 runs of the agent failed; last failure: threw Error: b is broken/)
          assert.match(
            messages[1]!,
            /only one of 2 runs of the agent has a score.*last failure: threw Error: a is broken/
          )
        })
    )
  })

  it.effect.each([
    ["what they ask for", "/chat/completions", { body: JSON.stringify({ messages: "hello" }) }, /messages/],
    ["a body that is not JSON", "/chat/completions", { body: "{" }, /not UTF-8 JSON, or incomplete/],
    ["a missing content type", "/chat/completions", { body: "{}", headers: {} }, /content-type: application\/json/],
    ["a doubled path", "/v1/chat/completions", { body: "{}" }, /unknown endpoint POST \/v1\/v1\/chat\/completions/],
    ["a missing path", "", { body: "{}" }, /unknown endpoint POST \/v1: a session has POST \/v1\/chat/],
    ["the method", "/chat/completions", { method: "PUT", body: "{}" }, /unknown endpoint PUT \/v1\/chat\/completions/]
  ] as const)("stops at runs whose requests are all refused, and says why: %s", ([, path, how, reason]) =>
    within(
      defineAgent({
        name: "refused",
        items: endless,
        heldOut: endless,
        run: async ({ model }) => {
          const headers = { "content-type": "application/json" }
          return (await fetch(`${model.baseURL}${path}`, { method: "POST", headers, ...how })).status
        },
        score: () => 1
      })({ groupSize: 2 }),
      (environment) =>
        Effect.map(errorOf(environment), (error) => {
          assert.isTrue(Environment.isUnusable(error))
          assert.match((error as Error).message, /the requests of the first [2-9] runs were all refused/)
          assert.match((error as Error).message, reason)
        })
    )
  )

  it.effect("is ended where no run of the first items reaches the model, in training and in evaluations", () =>
    Effect.gen(function* () {
      let runs = 0
      const agent = defineAgent({
        name: "elsewhere",
        items: endless,
        heldOut: endless,
        run: async () => {
          runs++
          return "from another provider"
        },
        score: () => 1
      })
      const error = yield* within(agent({ groupSize: 4 }), errorOf)
      assert.isTrue(Environment.isUnusable(error))
      assert.match(
        (error as Error).message,
        /none of the first 1[6-9] runs of the agent reached the model: .*model\.baseURL/
      )
      assert.isAtMost(runs, 19)
    })
  )

  it.live("a failure of the inference servers is no failure of the agent: the item is tried again", () =>
    within(
      defineAgent({ name: "outage", items: () => ["a"], run: ask, score: () => 1 })({ groupSize: 2 }),
      (environment) =>
        Effect.map(Effect.exit(first(environment)), (exit) => {
          assert.isTrue(Exit.isFailure(exit))
          const error = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
          assert.instanceOf(error, Environment.EnvironmentError)
          assert.instanceOf(error.cause, InferenceError)
        }),
      () => Effect.fail(new InferenceError({ reason: "malformed", server: "script", message: "out of order" }))
    )
  )

  it.live("a run that waits for an inference server ends at once when it is stopped", () =>
    Effect.gen(function* () {
      const opening = yield* Deferred.make<void>()
      // Nothing listens there.
      const away = ServerManager.layer({ servers: { baseUrl: "http://127.0.0.1:9/v1" } })
      const servers = Layer.effect(
        ServerManager.ServerManager,
        Effect.map(ServerManager.ServerManager, (real) => ({
          ...real,
          tracked: (options?: ServerManager.Tracked) =>
            Effect.andThen(Deferred.succeed(opening, undefined), real.tracked(options))
        }))
      ).pipe(Layer.provide(away))
      const agent = defineAgent({ name: "away", items: endless, run: ask, score: () => 1 })
      const layer = agent({ groupSize: 2 }).pipe(Layer.provide([servers, Dataset.layer, Tokenizer.layerBytes]))
      const running = yield* Effect.forkChild(
        Effect.flatMap(Environment.Environment, first).pipe(
          Effect.provide(layer),
          Effect.provideService(References.MinimumLogLevel, "Error")
        )
      )
      yield* Deferred.await(opening)
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("sub-agents are sequences of their own, with the score and the number of their session", () => {
    let runs = 0
    return within(
      defineAgent({
        name: "sub-agents",
        items: () => ["a"],
        run: async ({ item, model }) => {
          const say = client(model)
          if (runs++ === 0) await say([{ role: "system", content: "You are a sub-agent." }, user("look")])
          return say([user(item)])
        },
        score: ({ trajectories }) => trajectories.length
      })({ groupSize: 2 }),
      (environment) =>
        Effect.map(first(environment), ({ groups: [group] }) => {
          assert.deepStrictEqual(sorted(group!.scores), [1, 2, 2])
          const sessions = group!.overrides!.map((own) => own["session"])
          const many = Array.from(group!.scores).indexOf(2)
          assert.strictEqual(sessions[many], sessions[many + 1])
          assert.strictEqual(new Set(sessions).size, 2)
        })
    )
  })

  it.effect("takes a reward from what the run returns, or from reports by POST, and makes none up", () =>
    Effect.gen(function* () {
      const scoresOf = (run: (given: { readonly item: string; readonly model: AgentModel }) => Promise<unknown>) =>
        within(defineAgent({ name: "rewarded", items: () => ["a"], run })({ groupSize: 2 }), (environment) =>
          Effect.map(first(environment), ({ groups: [group] }) => Array.from(group!.scores))
        )
      const returned = yield* scoresOf(async (given) => {
        await ask(given)
        return { right: 1, short: 1 }
      })
      assert.deepStrictEqual(returned, [2, 2])
      const reported = yield* scoresOf(async (given) => {
        await ask(given)
        await fetch(`${given.model.anthropicBaseURL}/reward`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ reward: 0.5 })
        })
      })
      assert.deepStrictEqual(reported, [0.5, 0.5])
      const none = yield* Effect.flip(scoresOf(ask))
      assert.match((none as Error).message, /the run has no reward/)
      const odd = yield* Effect.flip(
        scoresOf(async (given) => {
          await ask(given)
          return Number.NaN
        })
      )
      assert.match((odd as Error).message, /run returned a number \(NaN\), which is not a reward/)
      const empty = yield* Effect.flip(
        scoresOf(async (given) => {
          await ask(given)
          return {}
        })
      )
      assert.match((empty as Error).message, /the run has no reward/)
      const scored = defineAgent({ name: "empty", items: () => ["a"], run: ask, score: () => ({}) })({ groupSize: 2 })
      const refused = yield* within(scored, (environment) => Effect.flip(first(environment)))
      assert.match(refused.message, /score gave an object with no keys, which is not a reward: it names no component/)
      const partly = defineAgent({
        name: "partly",
        items: () => ["a"],
        run: ask,
        score: () => ({ right: 1, brief: Number.NaN })
      })({ groupSize: 2 })
      const named = yield* within(partly, (environment) => Effect.flip(first(environment)))
      assert.match(named.message, /"brief", which is NaN/)
    })
  )

  it.effect("logs at its end how many runs failed, and why most of them did", () => {
    const totalOf = (fails: (run: number) => string | undefined) => {
      const logged: Array<unknown> = []
      let runs = 0
      return within(
        defineAgent({
          name: "unlucky",
          items: ["a", "b"],
          run: async ({ item, model }) => {
            const text = await client(model)([user(item)])
            const problem = fails(runs++)
            if (problem !== undefined) throw new Error(problem)
            return text
          },
          score: () => 1
        })({ groupSize: 4 }),
        (environment) =>
          environment.work(0).pipe(
            Stream.take(2),
            Stream.runForEach(({ rollOut }) => rollOut)
          ),
        echo,
        "Warn"
      ).pipe(
        Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])),
        Effect.as(logged),
        Effect.map((all) => all.filter((one) => JSON.stringify(one).includes("in total")))
      )
    }
    return Effect.gen(function* () {
      const total = yield* totalOf((run) => ["no disk", "no luck", undefined, undefined, "no luck"][run])
      assert.lengthOf(total, 1)
      assert.match(JSON.stringify(total), /"failed":3,"runs":8,"times":2,"reason":"threw Error: no luck/)
      assert.lengthOf(yield* totalOf(() => undefined), 0)
    })
  })

  it.effect("reports once a prompt that says what its item does not, undefined or an object", () => {
    const told = (items: ReadonlyArray<{ readonly question?: unknown }>) => {
      const warnings: Array<unknown> = []
      return within(
        defineAgent({
          name: "undefined",
          items,
          run: ({ item, model }) => client(model)([user(`say ${String(item.question)}`)]),
          score: () => 1
        })({ groupSize: 2 }),
        (environment) => Effect.as(first(environment), warnings),
        echo,
        "Warn"
      ).pipe(
        Effect.provide(Logger.layer([Logger.make(({ message }) => void warnings.push(message))])),
        Effect.map((all) =>
          all.map((one) => JSON.stringify(one)).filter((one) => one.includes("a prompt of the agent"))
        )
      )
    }
    return Effect.gen(function* () {
      const [undefineds, objects, said, fine] = [
        yield* told([{}]),
        yield* told([{ question: { a: 1 } }]),
        yield* told([{ question: "what is undefined in JavaScript?" }]),
        yield* told([{ question: "hello" }])
      ]
      assert.lengthOf(undefineds, 1)
      assert.match(undefineds[0]!, /contains \\"undefined\\".*say undefined/)
      assert.lengthOf(objects, 1)
      assert.lengthOf(said, 0)
      assert.lengthOf(fine, 0)
    })
  })

  it.effect("what its score throws is told with its name and place", () =>
    within(
      defineAgent({
        name: "bad-score",
        items: () => ["a"],
        run: ask,
        score: () => {
          throw new Error("oh")
        }
      })({ groupSize: 2 }),
      (environment) =>
        Effect.map(Effect.flip(first(environment)), (error) =>
          assert.match(error.message, /^score threw Error: oh \(.*Agent\.test\.ts:\d+:\d+\)$/)
        )
    ).pipe(Effect.provide(Logger.layer([])))
  )

  it.effect("samples the runs of a group differently although the agent sends one seed, and counts that", () => {
    const seeds: Array<number | undefined> = []
    return within(
      defineAgent({
        name: "seeded",
        items: () => ["ab"],
        run: async ({ model }) => {
          const openai = new OpenAI({ baseURL: model.baseURL, apiKey: model.apiKey, maxRetries: 0 })
          const answer = await openai.chat.completions.create({ model: model.name, messages: [user("hi")], seed: 42 })
          return answer.choices[0]?.message.content
        },
        score: ({ result }) => Number(result) % 2
      })({ groupSize: 4 }),
      (environment) =>
        Effect.gen(function* () {
          yield* Effect.exit(first(environment))
          assert.strictEqual(new Set(seeds).size, 4)
          assert.notInclude(seeds, 42)
          assert.strictEqual((yield* environment.metrics)["agent/seeded"], 4)
        }),
      (request) => {
        seeds.push(request.seed)
        return String(seeds.length)
      }
    )
  })

  it.effect("goes on with a generator's items from any cursor, and shuffles rows by the seed", () =>
    Effect.gen(function* () {
      const labels = (items: () => Generator<string> | AsyncGenerator<string>, cursor: number) =>
        within(defineAgent({ name: "items", items, run: ask, score: () => 1, label: (item) => item })(), ({ work }) =>
          work(cursor).pipe(
            Stream.take(3),
            Stream.map(({ label }) => label),
            Stream.runCollect
          )
        )
      assert.deepStrictEqual(yield* labels(endless, 5), ["item 5", "item 6", "item 7"])
      assert.deepStrictEqual(
        yield* labels(async function* () {
          yield* ["a", "b", "c", "d"]
        }, 2),
        ["c", "d"]
      )
      const rows = (seed: number) =>
        within(
          defineAgent({ name: "rows", items: "rows.jsonl", run: ask, score: () => 1, label: ({ name }) => name })({
            seed
          }),
          ({ evaluation, work }) =>
            work(0).pipe(
              Stream.take(9),
              Stream.map(({ label }) => label),
              Stream.runCollect,
              Effect.tap(() => Effect.sync(() => assert.isTrue(Option.isSome(evaluation))))
            )
        )
      const taken = yield* rows(1)
      assert.strictEqual(new Set(taken).size, 9)
      assert.deepStrictEqual(yield* rows(1), taken)
      assert.notDeepEqual(yield* rows(2), taken)
    })
  )

  it.effect("reports columns that are empty, and rows without an expected answer", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const logged: Array<unknown> = []
      const warnings = Effect.fnUntraced(function* (rows: string) {
        logged.length = 0
        const items = yield* fs.makeTempFileScoped({ directory: folder, suffix: ".csv" })
        yield* fs.writeFileString(items, rows)
        const agent = defineAgent({ name: "rows", items, run: ask, score: () => 1 })()
        yield* within(agent, () => Effect.void, echo, "Warn").pipe(
          Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))]))
        )
        return JSON.stringify(logged)
      })
      assert.strictEqual(yield* warnings("question,answer,note\nA?,1,\nB?,2,x\n"), "[]")
      assert.include(yield* warnings("question,answer\nA?,1\nB?,\nC?,\n"), "answer in 2 of 3 rows, first in row 2")
      const empty = yield* warnings("question,answer\nA?,\nB?,\n")
      assert.include(empty, '"columns":"answer"')
      assert.notInclude(empty, "first in row")
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )

  it.effect("says where it looked for a file, and that a started generator cannot be read twice", () =>
    Effect.gen(function* () {
      const failure = (items: string | Generator<string>) =>
        within(
          defineAgent({ name: "missing", items: items as string, run: ask, score: () => 1 })(),
          () => Effect.void
        ).pipe(
          Effect.flip,
          Effect.map((error) => (error as Error).message)
        )
      assert.match(
        yield* failure("nowhere.jsonl"),
        /nowhere\.jsonl: file not found \(tried .*test[/\\]agent[/\\]nowhere\.jsonl and .*nowhere\.jsonl/
      )
      const started = (function* () {
        yield "a"
      })()
      assert.match(yield* failure(started), /pass the generator function without calling it/)
    })
  )

  it("refuses a definition that cannot be meant", () => {
    assert.throws(
      // A file in JavaScript is not checked.
      () => defineAgent({ name: "typo", items: ["a"], run: ask, scores: () => 1 } as never),
      'defineAgent: unknown key "scores"; did you mean "score"?'
    )
    assert.throws(() => defineAgent({ name: "none", items: ["a"] } as never), "defineAgent: run must be a function")
    assert.throws(
      () => defineAgent({ name: "odd", items: ["a"], run: ask, settings: { when: new Date() as never } }),
      "settings.when: its default must be a string, a number, true or false"
    )
  })

  it.effect("its own settings are flags with defaults, typed by them", () =>
    within(
      Layer.unwrap(
        Effect.succeed(
          defineAgent({
            name: "settings",
            items: ({ settings }) => Array.from({ length: settings.count }, (_, index) => `${settings.word} ${index}`),
            settings: { count: 2, word: { default: "item", description: "what an item is called" } },
            run: ask,
            score: ({ settings }) => settings.count,
            label: (item) => item
          }).fromEncoded({ count: 3 })
        )
      ),
      ({ work }) =>
        Effect.map(Stream.runCollect(work(0)), (all) =>
          assert.deepStrictEqual(
            all.map(({ label }) => label),
            ["item 0", "item 1", "item 2"]
          )
        )
    )
  )

  it.effect("shows what was asked, expected and given, in training and in evaluations", () =>
    Effect.gen(function* () {
      const rows = [
        { question: "1 + 1", answer: 2 },
        { question: "2 + 2", answer: 4 }
      ]
      const shown = (gold: { readonly gold?: (item: (typeof rows)[number]) => ReadonlyArray<{ number: number }> }) =>
        within(
          defineAgent({
            name: "shown",
            items: rows,
            heldOut: rows,
            run: async ({ item, model }) => ({ number: (await client(model)([user(item.question)])).length }),
            score: ({ item, result }) => (result.number === item.answer ? 1 : 0),
            ...gold
          })({ groupSize: 2 }),
          (environment) =>
            Effect.gen(function* () {
              const { groups } = yield* first(environment)
              const held = yield* Stream.runHead(Option.getOrThrow(environment.evaluation))
              const { evaluate, label } = Option.getOrThrow(held)
              const [sample] = yield* evaluate
              return [label, groups[0]!.groupOverrides, groups[0]!.overrides, sample!.sample] as const
            })
        )
      const given = "5"
      assert.deepStrictEqual(yield* shown({}), [
        "1 + 1",
        { gold: ["2"] },
        [{ parsed: given }, { parsed: given }],
        { gold: ["2"], parsed: given }
      ])
      assert.deepStrictEqual((yield* shown({ gold: ({ answer }) => [{ number: answer }] }))[3], {
        gold: ["2"],
        parsed: given
      })
    })
  )

  it.effect("gold and wrong results are held to the score", () =>
    within(
      defineAgent({
        name: "claims",
        items: [{ question: "1 + 1", answer: 2 }],
        run: async ({ item, model }) => ({ number: Number(await client(model)([user(item.question)])) }),
        score: ({ item, result }) => (result.number === item.answer ? 1 : 0),
        gold: ({ answer }) => [{ number: answer }],
        wrong: ({ answer }) => [{ number: answer + 1 }]
      })(),
      ({ claims }) =>
        Effect.gen(function* () {
          const { items } = Option.getOrThrow(claims)
          const { gold, score, wrong } = Option.getOrThrow(yield* Stream.runHead(items))
          assert.deepStrictEqual(yield* score([...gold, ...wrong]), [1, 0])
        })
    )
  )
})
