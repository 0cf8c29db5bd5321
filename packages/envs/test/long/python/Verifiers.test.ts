/** Environments of verifiers: packages of these tests, with rewards by name and with several seats. */
import { assert, describe, it } from "@effect/vitest"
import { Environment, Message, type ScoredGroup, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Layer, Logger, Option, References, Stream } from "effect"
import { fileURLToPath } from "node:url"
import * as TokenLog from "../../../../core/test/gateway/TokenLog.ts"
import * as DecodeGraph from "../../../../trainer/src/engine/DecodeGraph.ts"
import * as Engine from "../../../../trainer/src/engine/Engine.ts"
import * as Model from "../../../../trainer/src/model/Model.ts"
import * as TinyModel from "../../../../trainer/src/model/TinyModel.ts"
import * as PolicyBackend from "../../../../trainer/src/server/PolicyBackend.ts"
import * as PythonNames from "../../../src/python/Names.ts"
import * as Verifiers from "../../../src/connected/Verifiers.ts"
import * as Processes from "./Processes.ts"
import { having, interpreter } from "../../../../core/test/Python.ts"

const { absence, isPresent } = having("verifiers.v1")

const packages = fileURLToPath(new URL("packages", import.meta.url))
/** The interpreter with the packages of these tests, and a mark that all that it starts carries. */
const python = (mark: string) => `env ${mark} 'PYTHONPATH=${packages}' ${interpreter}`

const one = { groupSize: 2, maxTokenLength: 1024, sessionTimeout: 200, evaluationItems: 2 }

/** The seats of coins as programs. */
const shells = Object.fromEntries(["left", "right", "referee"].map((seat) => [seat, { harness: { id: "bash" } }]))

const first = ({ work }: Environment.EnvironmentShape) =>
  work(0).pipe(
    Stream.runHead,
    Effect.flatMap((item) => Option.getOrThrow(item).rollOut)
  )

const quiet = Effect.provideService(References.MinimumLogLevel, "Error")

const textOf = (request: ServerManager.ScriptedRequest): string =>
  "messages" in request ? request.messages.map(Message.text).join("\n") : ""

const lastOf = (group: ScoredGroup.ScoredGroup) => group.messages!.map((chat) => Message.text(chat.at(-1)!))

describe.runIf(isPresent)(`verifiers${absence}`, () => {
  it.live("rewards are the package's, by their names and with their weights", () =>
    Effect.gen(function* () {
      const { groups } = yield* first(yield* Environment.Environment)
      assert.strictEqual(groups.length, 1)
      const [group] = groups
      // The second answer has the length alone.
      const said = lastOf(group!)
      const right = said.findIndex((text) => text !== "x".repeat(text.length))
      assert.deepStrictEqual(group!.rewards![right], { right: 1, length: 0.5 })
      assert.deepStrictEqual(group!.rewards![1 - right], { right: 0, length: 0.5 })
      assert.deepStrictEqual([group!.scores[right], group!.scores[1 - right]], [1.5, 0.5])
    }).pipe(
      Effect.provide(
        Verifiers.layer({ ...one, python: python("A=1"), taskset: "reversal" }).pipe(
          Layer.provide(
            ServerManager.layerScripted(
              (() => {
                let count = 0
                return (request) => {
                  const word = textOf(request).trim().split("\n").at(-1) ?? ""
                  return count++ === 0 ? Array.from(word).toReversed().join("") : "x".repeat(word.length)
                }
              })()
            )
          )
        )
      ),
      quiet
    )
  )

  it.live("what the package only records is a metric of the run: its mean over the rollouts of a step", () =>
    Effect.gen(function* () {
      const environment = yield* Environment.Environment
      yield* first(environment)
      const { "verifiers/letters": letters, ...others } = yield* environment.metrics
      assert.strictEqual(letters, 3)
      // Values that are not finite are left out, and a step without rollouts has no metric.
      assert.isFalse(Object.hasOwn(others, "verifiers/unknown"))
      assert.isFalse(Object.hasOwn(yield* environment.metrics, "verifiers/letters"))
      yield* Stream.runForEach(Stream.take(Option.getOrThrow(environment.evaluation), 1), ({ evaluate }) => evaluate)
      assert.isFalse(Object.hasOwn(yield* environment.metrics, "verifiers/letters"))
    }).pipe(
      Effect.provide(
        Verifiers.layer({ ...one, python: python("A=1"), taskset: "reversal" }).pipe(
          Layer.provide(
            ServerManager.layerScripted(
              (() => {
                let count = 0
                return () => (count++ === 0 ? "x" : "yyyyy")
              })()
            )
          )
        )
      ),
      quiet
    )
  )

  const faults = (mode: string, level: "Error" | "Warn" = "Error", settings = {}) =>
    Effect.flatMap(Environment.Environment, first).pipe(
      Effect.provide(
        Verifiers.layer({
          ...one,
          python: python("A=1"),
          taskset: "faults",
          config: { taskset: { mode } },
          ...settings
        }).pipe(Layer.provide(ServerManager.layerScripted(() => "x")))
      ),
      Effect.provideService(References.MinimumLogLevel, level)
    )

  it.live("rewards whose names differ in other characters alone all count", () =>
    Effect.gen(function* () {
      const { groups } = yield* faults("names")
      assert.deepStrictEqual(
        groups.map(({ scores }) => Array.from(scores)),
        [[30, 30]]
      )
      assert.strictEqual(groups[0]!.rewards![0]!["a_b"], 4)
    })
  )

  it.live("a reward that is no number for a score fails its rollout, and the error names it", () =>
    Effect.gen(function* () {
      const reasonOf = (mode: string) => Effect.map(Effect.flip(faults(mode)), ({ message }) => message)
      assert.match(yield* reasonOf("nan"), /the episode failed: the reward main is nan/)
      assert.match(yield* reasonOf("overflow"), /the episode failed: the reward first is inf, the reward second is inf/)
      assert.match(yield* reasonOf("cancelled"), /a reward or tool raised CancelledError/)
      assert.match(yield* reasonOf("group"), /several \(2 sub-exceptions\); ValueError: one; TypeError: other$/)
      assert.match(yield* reasonOf("long"), /ValueError: the beginning -+ … -+ the end$/)
    })
  )

  it.live("a seat that is run too often, and an environment that is not there, are refused in words", () =>
    Effect.gen(function* () {
      const often = yield* Effect.flip(faults("names", "Error", { environment: "best_of_n" }))
      assert.match(often.message, /run more than 2 times in one rollout: raise the setting runs_per_seat$/)
      const { groups } = yield* faults("names", "Error", { environment: "best_of_n", runsPerSeat: 4 })
      assert.deepStrictEqual(
        groups.map(({ scores }) => Array.from(scores)),
        [Array.from({ length: 8 }, () => 30)]
      )
      const absent = yield* Effect.flip(faults("names", "Error", { environment: "no_such" }))
      assert.match(absent.message, /^environment 'no_such' not found/)
    })
  )

  it.live("an interpreter that ended is logged once for all of its rollouts, with the reason", () => {
    const logged: Array<unknown> = []
    return Effect.gen(function* () {
      yield* Effect.flip(faults("killed", "Warn"))
      assert.strictEqual(logged.length, 1)
      assert.match(JSON.stringify(logged), /the Python interpreter ended.*was killed by SIGKILL.*"times":1/)
    }).pipe(Effect.provide(Logger.layer([Logger.make(({ message }) => void logged.push(message))])))
  })

  it.live("each trained seat is a group of its own, with its return; one that is not trained is left out", () =>
    Effect.gen(function* () {
      const { groups } = yield* first(yield* Environment.Environment)
      const seats = new Map(
        groups.map((group) => [Message.text(group.messages![0]![0]!), { ...group, said: lastOf(group) }])
      )
      assert.deepStrictEqual(Array.from(seats.keys()).toSorted(), ["You are left.", "You are right."])
      const [left, right] = [seats.get("You are left.")!, seats.get("You are right.")!]
      assert.deepStrictEqual(Array.from(left.scores), [1, 1])
      assert.deepStrictEqual(Array.from(right.scores), [-1, -1])
      assert.deepStrictEqual(left.rewards, [{ won: 1 }, { won: 1 }])
      assert.deepStrictEqual(left.said, ["[7]", "[7]"])
      assert.deepStrictEqual(right.said, ["[3]", "[3]"])
    }).pipe(
      Effect.provide(
        Verifiers.layer({ ...one, python: python("A=1"), taskset: "coins" }).pipe(
          Layer.provide(
            ServerManager.layerScripted((request) => (textOf(request).includes("You are left") ? "[7]" : "[3]"))
          )
        )
      ),
      quiet
    )
  )

  it.live("what is trained is what the engine sampled, id by id", () => {
    const printable = Array.from({ length: 95 }, (_, at) => String.fromCharCode(32 + at)).join("")
    const model = TinyModel.make({ characters: `${printable}\n`, seed: 1, maxPositions: 256 })
    const engine = Engine.layer({
      model: DecodeGraph.make(Model.decodable(model)),
      initial: { policy: "initial", policyVersion: 3, parameters: model.initial },
      device: "cpu",
      settings: { maxRows: 8, maxWaiting: 8 }
    })
    const tokenizer = Layer.succeed(Tokenizer.Tokenizer, model.tokenizer)
    return Effect.gen(function* () {
      const backend = yield* PolicyBackend.make({ modelName: "tiny", maxSequenceTokens: 256 })
      const { backend: logged, log } = TokenLog.make(backend)
      const servers = ServerManager.layerBackends([logged]).pipe(Layer.provide(tokenizer))
      const layer = Verifiers.layer({ ...one, maxTokenLength: 8, python: python("A=1"), taskset: "coins" })
      const { groups } = yield* Effect.provide(
        Effect.flatMap(Environment.Environment, first),
        Layer.provide(layer, servers)
      )
      const sequences = groups.flatMap(({ masks, tokens }) =>
        tokens.map((ids, at) => ({ tokens: ids, mask: masks[at]! }) as Parameters<typeof TokenLog.difference>[0])
      )
      assert.strictEqual(sequences.length, 4)
      for (const sequence of sequences) assert.isUndefined(TokenLog.difference(sequence, log))
      // The seat that is not trained was asked twice, too.
      assert.deepStrictEqual(
        TokenLog.coverage(sequences, log).toSorted((a, b) => a - b),
        [0, 0, 1, 1, 1, 1]
      )
      for (const { policyVersions } of groups) assert.deepStrictEqual(policyVersions, [3, 3])
    }).pipe(Effect.provide(Layer.mergeAll(engine, tokenizer)), Effect.scoped, quiet)
  })

  it.live.runIf(Processes.canLook)(
    "an interpreter that is killed in the middle of a rollout takes its programs along, and the item is rolled out again",
    () => {
      const mark = `ATROPOS_TEST_MARK=killed-${process.pid}`
      let killed = 0
      const script: ServerManager.Script = () => {
        const running = Processes.marked(mark)
        const bridge = running.find(({ command }) => command.includes("bridge.py") && !command.startsWith("/bin/sh"))
        if (killed === 0 && bridge !== undefined) {
          // The bridge, and at least one program that the package has started for a seat.
          killed = running.length
          process.kill(bridge.pid, "SIGKILL")
        }
        return "[1]"
      }
      return Effect.gen(function* () {
        const environment = yield* Environment.Environment
        const error = yield* Effect.flip(first(environment))
        assert.match(error.message, /was killed by SIGKILL|exited with code 137/)
        assert.isAtLeast(killed, 2)
        assert.deepStrictEqual(yield* Processes.gone(mark), [])
        const { groups } = yield* first(environment)
        assert.strictEqual(groups.length, 2)
      }).pipe(
        Effect.provide(
          // A plain chat has no program of its own.
          Verifiers.layer({ ...one, python: python(mark), taskset: "coins", config: shells }).pipe(
            Layer.provide(ServerManager.layerScripted(script))
          )
        ),
        quiet
      )
    }
  )

  it.live("a package that is not there is told with the command that installs it", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.flatMap(Environment.Environment, first))
      assert.include(error.message, `-m pip install "no-such-taskset"`)
    }).pipe(
      Effect.provide(
        Verifiers.layer({ ...one, python: python("A=1"), taskset: "owner/no-such-taskset@1" }).pipe(
          Layer.provide(ServerManager.layerScripted(() => ""))
        )
      ),
      quiet
    )
  )

  it.live(
    "an environment of the interface before v1, and a verifiers without v1, are refused with what is needed",
    () =>
      Effect.gen(function* () {
        const refused = (folder: string, taskset: string) =>
          Effect.flatMap(Environment.Environment, first).pipe(
            Effect.flip,
            Effect.map(({ message }) => message),
            Effect.provide(
              Verifiers.layer({
                ...one,
                python: `env 'PYTHONPATH=${packages}/${folder}' ${interpreter}`,
                taskset
              }).pipe(Layer.provide(ServerManager.layerScripted(() => "")))
            )
          )
        assert.match(yield* refused("older", "classic"), /classic has load_environment, .* ported to verifiers\.v1/)
        assert.match(
          yield* refused("older/release", "reversal"),
          /lacks verifiers>=0\.4 \(it has verifiers 0\.1\.9, which lacks the v1 interface\); install it with .*"verifiers>=0\.4"/
        )
      }).pipe(quiet)
  )

  it.live("lists the tasksets that come with it, and those of installed packages and folders of Python's path", () =>
    Effect.map(PythonNames.of("verifiers", "verifiers")({ python: python("A=1") }), (names) =>
      assert.includeMembers(Array.from(names), ["textarena", "coins", "faults", "reversal"])
    )
  )
})
