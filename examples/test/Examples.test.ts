/**
 * Every example is run; what it prints is what its text says. (03 is a test file itself; 00, 06 and 15 train for
 * longer: `nightly/`.)
 */
import { assert, describe, it } from "@effect/vitest"
import { NodeServices } from "@effect/platform-node"
import { PolicyLayers } from "@atropos/trainer"
import { Environment, Message, ServerManager, Tokenizer } from "@atropos/core"
import { ArithmeticStories } from "@atropos/envs"
import { Effect, FileSystem, Layer, Option, Schema, Stream } from "effect"
import { TestConsole } from "effect/testing"
import * as TestServer from "../../packages/core/test/inference/TestServer.ts"
import * as Letters from "../01-letters.ts"
import * as TwoEnvironments from "../02-two-environments.ts"
import * as Embedding from "../04-embedding.ts"
import * as MultiTurn from "../05-multi-turn.ts"
import * as TrainingStream from "../07-training-stream.ts"
import * as PushToVllm from "../08-push-to-vllm.ts"
import * as StepWise from "../10-step-wise.ts"
import * as JudgeExample from "../11-judge.ts"
import * as Pictures from "../12-pictures.ts"
import * as FollowUpItems from "../13-follow-up-items.ts"
import * as SandboxExample from "../14-sandbox.ts"
import * as Tools from "../16-tools.ts"
import * as AiSdkAgent from "../17-ai-sdk-agent.ts"
import * as SelfPlay from "../18-self-play.ts"
import * as CalculatorAgent from "../19-calculator-agent.ts"
import * as Compaction from "../21-compaction.ts"
import * as Gsm8kExample from "../20-gsm8k.ts"
import * as Capitals from "../models/capitals.ts"
import * as ModelFolders from "../../packages/cli/test/ModelFolders.ts"
import { calculateTwice, keepSums, printed, rolledOut, sayPrice } from "./Printed.ts"

const decodeFigures = Schema.decodeSync(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Finite)))

// Some of them train: seconds on a machine that has nothing else to do.
describe("examples", () => {
  it.effect("01: scores a group of each word", () =>
    Effect.map(printed(Letters.program), (lines) =>
      assert.deepStrictEqual(lines, ["scores 1 0 0", "scores 0 1 0", "scores 0 0 0"])
    )
  )

  it.live("02: fills exact batches from two environments", () =>
    Effect.gen(function* () {
      const lines = yield* printed(TwoEnvironments.program).pipe(Effect.provide(TestConsole.layer))
      assert.deepStrictEqual(
        lines.map((line) => line.slice(0, 16)),
        ["step 1: 4 groups", "step 2: 4 groups", "step 3: 4 groups"]
      )
    })
  )

  it.live("04: serves its own route and the service's under a path", () =>
    Effect.gen(function* () {
      const [own, service] = yield* printed(Embedding.program).pipe(Effect.provide(TestConsole.layer))
      assert.strictEqual(own, "the host application")
      assert.match(service!, /^trajectory service at http:.*\/atropos: batch size -1$/)
    })
  )

  it.effect("05: makes one sequence of a game's turns, whose answers are trained", () =>
    Effect.map(printed(MultiTurn.program), (lines) =>
      // An answer is a digit and the end of the turn.
      assert.deepStrictEqual(lines, [
        "score 0.25, 8 tokens trained",
        "score 0.33, 6 tokens trained",
        "score 0.25, 8 tokens trained",
        "score 0.50, 4 tokens trained"
      ])
    )
  )

  it.live("07: stops at the step whose reward reaches the goal, with a line of figures for each", () =>
    Effect.gen(function* () {
      const goal = 0.3
      const lines = yield* TrainingStream.program(goal).pipe(Effect.provide(TestConsole.layer))
      const rewards = lines.map((line) => decodeFigures(line)["reward/mean"]!)
      assert.isAbove(rewards.length, 1)
      assert.isAtLeast(rewards.at(-1)!, goal)
      assert.isTrue(rewards.slice(0, -1).every((reward) => reward < goal))
    })
  )

  it.live("08: vLLM is given a complete adapter under a new name for every version", () =>
    Effect.gen(function* () {
      const loaded = new Map<string, Float32Array>()
      const run = Effect.runPromiseWith(yield* Effect.context())
      const read = yield* PolicyLayers.readAdapter(PushToVllm.model)
      const server = yield* TestServer.make(({ body, method, path }) => {
        const name = String(body["lora_name"])
        if (method !== "POST") return { status: 405, text: "" }
        if (path === "/v1/unload_lora_adapter") {
          return loaded.delete(name) ? { text: "Success" } : { status: 404, text: `${name} cannot be found` }
        }
        if (path !== "/v1/load_lora_adapter" || loaded.has(name)) return { status: 400, text: "refused" }
        return run(
          Effect.map(read(String(body["lora_path"])), (parameters) => {
            loaded.set(name, parameters)
            return { text: "Success" }
          })
        )
      })
      const lines = yield* printed(PushToVllm.program(server.url)).pipe(Effect.provide(TestConsole.layer))
      assert.deepStrictEqual(lines, [`vllm ${server.url} serves policy-demo-v3`])
      const loads = server.asked.filter(({ path }) => path === "/v1/load_lora_adapter")
      assert.deepStrictEqual(
        loads.map(({ body }) => body["lora_name"]),
        ["policy-demo-v0", "policy-demo-v1", "policy-demo-v2", "policy-demo-v3"]
      )
      const [second, third] = [loaded.get("policy-demo-v2")!, loaded.get("policy-demo-v3")!]
      assert.strictEqual(second.length, PushToVllm.model.layout.size)
      assert.isTrue(third.some((value, at) => value !== second[at]))
    }).pipe(Effect.provide(NodeServices.layer))
  )

  it.effect("16: looks a price up by a tool, and gives each turn its own advantage", () =>
    Effect.map(printed(Tools.program), (lines) =>
      // The first turn's call did what it was to do or not, and led to the outcome; the second has the outcome alone.
      assert.deepStrictEqual(lines, ["score 1, advantages 2.0 1.0", "score 0, advantages -2.0 -1.0"])
    )
  )

  it.effect("10: compares the moves of each turn, and goes on with the best", () =>
    Effect.map(printed(StepWise.program), (lines) =>
      // At 5: to 6, 7 or 8, and no move; from 7, the best, to 8, 9 or 10.
      assert.deepStrictEqual(lines, ["-0.08  0.19  -0.11  -1.00", "-0.30  -0.52  0.81  -1.19"])
    )
  )

  it.effect("11: scores answers by a judge whose love of the first place it finds out", () =>
    Effect.map(printed(JudgeExample.program), (lines) =>
      assert.deepStrictEqual(lines, ["scores 1 0.25 0.25", "scores 1 0.25 0.25", "12 calls, position bias 0.33"])
    )
  )

  it.live("12: sends pictures to the model and with the groups", () =>
    Effect.gen(function* () {
      const lines = yield* printed(Pictures.program).pipe(Effect.provide(TestConsole.layer))
      const sent = "image_url and text, data:image/png;base64"
      assert.deepStrictEqual(lines, [`scores 1 0 0, ${sent}`, `scores 0 1 0, ${sent}`, `scores 0 0 1, ${sent}`])
    })
  )

  it.effect("13: has the model judge a right and a wrong answer of its own", () =>
    Effect.map(printed(FollowUpItems.program), (lines) =>
      assert.deepStrictEqual(lines, [
        "1 + 1? all are right",
        "2 + 2? 1 -1 1 -1",
        "Is 2 + 2 = 4? yes or no 1 -1",
        "Is 2 + 2 = 5? yes or no -1 1"
      ])
    )
  )

  it.live("14: gives no score to programs that only claim to pass", () =>
    Effect.map(printed(SandboxExample.program).pipe(Effect.provide(TestConsole.layer)), (lines) =>
      assert.deepStrictEqual(lines, ["scores 1 0 0 0", "scores 0 1 0 0"])
    )
  )

  it.live("17: looks the price up, and says it", () =>
    Effect.gen(function* () {
      const { scores } = yield* rolledOut(AiSdkAgent.default, sayPrice)
      assert.deepStrictEqual(Array.from(scores), [1, 1])
      // Says a price without looking: none is 12.
      const guessed = yield* rolledOut(AiSdkAgent.default, () => "12")
      assert.deepStrictEqual(Array.from(guessed.scores), [0, 0])
    })
  )

  it.effect("18: play at random can be exploited, Kuhn's equilibrium cannot", () =>
    Effect.sync(() => {
      assert.closeTo(
        SelfPlay.exploitability(() => 0.5),
        11 / 24,
        1e-12
      )
      // Kuhn (1950): the first seat bluffs with α in [0, 1/3], everything else follows.
      for (const bluff of [0, 0.2, 1 / 3]) {
        const bets: Record<string, number> = {
          J: bluff,
          Q: 0,
          K: 3 * bluff,
          Jpb: 0,
          Qpb: bluff + 1 / 3,
          Kpb: 1,
          Jp: 1 / 3,
          Qp: 0,
          Kp: 1,
          Jb: 0,
          Qb: 1 / 3,
          Kb: 1
        }
        assert.closeTo(
          SelfPlay.exploitability((known) => bets[known]!),
          0,
          1e-12
        )
      }
    })
  )

  it.effect("18: each seat's plays of the same cards are a group, and what one wins the other loses", () =>
    Effect.gen(function* () {
      const { groups } = yield* Environment.Environment
      const [first, second] = yield* Stream.runCollect(Stream.take(groups, 2))
      assert.deepStrictEqual(
        Array.from(first!.scores),
        Array.from(second!.scores, (score) => -score)
      )
    }).pipe(
      Effect.provide(
        SelfPlay.layer({ groupSize: 4 }).pipe(Layer.provide(ServerManager.layerScripted(["b", "p", "p", "b", "b"])))
      )
    )
  )

  it.live("19: calls the calculator until it needs no more sums, and answers", () =>
    Effect.gen(function* () {
      const story = ArithmeticStories.story({ seed: 0, index: 0, difficulty: 2, largestNumber: 20 })
      const { messages, scores } = yield* rolledOut(CalculatorAgent.default, calculateTwice(story.answer))
      assert.deepStrictEqual(Array.from(scores), [1, 1])
      const roles = messages?.[0]?.map(({ role }) => role)
      assert.deepStrictEqual(roles, ["system", "user", "assistant", "tool", "assistant", "tool", "assistant"])
      const guessed = yield* rolledOut(CalculatorAgent.default, () => "The last number is 0.")
      assert.deepStrictEqual(Array.from(guessed.scores), [0, 0])
    })
  )

  it("19: the calculator does sums of products, and says what is none", () => {
    const sums = { "12+3x4": "24", "3-5": "-2", "-2+-2": "-4", "2*3x4-1": "23", "": "not a sum", "2+": "not a sum" }
    for (const [sum, result] of Object.entries(sums)) assert.strictEqual(CalculatorAgent.calculated(sum), result)
  })

  it.live("21: each chat between two summaries is a sequence with the run's score, and its summary is trained", () =>
    Effect.gen(function* () {
      const { masks, messages, scores, tokens } = yield* rolledOut(Compaction.default, keepSums)
      // Two runs of three chats: two pages and a summary each, then the question.
      assert.deepStrictEqual(Array.from(scores), [1, 1, 1, 1, 1, 1])
      const asked = messages!.map((chat) => Message.text(chat.at(-2)!))
      assert.strictEqual(asked.filter((text) => text === Compaction.summarize).length, 4)
      for (const [at, chat] of messages!.entries()) {
        const summary = Message.text(chat.at(-1)!)
        const trained = Array.from(tokens[at]!).filter((_, index) => masks[at]![index] === 1)
        assert.include(Tokenizer.bytes.decode(trained), summary)
      }
      const forgetful = yield* rolledOut(Compaction.default, (request) =>
        Message.text(request.messages.at(-1)!) === Compaction.summarize ? "I forgot." : keepSums(request)
      )
      assert.isBelow(Math.max(...forgetful.scores), 1)
    })
  )

  it.effect(
    "models/capitals: pays for the capital alone, less for another short answer or a sentence, and holds countries out",
    () =>
      Effect.gen(function* () {
        const { evaluation, groups } = yield* Environment.Environment
        const [first] = yield* Stream.runCollect(Stream.take(groups, 1))
        // The first country of training is the second of the table.
        assert.deepStrictEqual(
          Array.from(first!.scores, (score) => Number(score.toFixed(6))),
          [1, 1, 0.1, 0.3, 0]
        )
        const heldOut = yield* Stream.runCollect(Option.getOrThrow(evaluation))
        assert.deepStrictEqual(
          heldOut.slice(0, 2).map(({ label }) => label),
          ["Afghanistan", "Armenia"]
        )
      }).pipe(
        Effect.provide(
          Capitals.layer({ groupSize: 5 }).pipe(
            Layer.provide(
              ServerManager.layerScripted([
                "Tirana",
                " tirana.",
                "Rome",
                "The capital of Albania is Tirana.",
                "I do not know what its capital is"
              ])
            ),
            Layer.provide(Tokenizer.layerBytes)
          )
        )
      )
  )

  it.live("20: trains a model folder on the rows of a file", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* fs.makeTempDirectoryScoped()
      const model = yield* ModelFolders.write(`${folder}/model`, "llama")
      const rows = `${folder}/rows.jsonl`
      yield* fs.writeFileString(rows, JSON.stringify({ question: "1 + 1?", answer: "1 + 1 = 2\n#### 2" }))
      const lines = yield* printed(Gsm8kExample.program({ model, rows, steps: 2, engine: "local" })).pipe(
        Effect.provide(TestConsole.layer)
      )
      assert.deepStrictEqual(
        lines.map((line) => line.slice(0, 21)),
        ["step 1: score 0.000, ", "step 2: score 0.000, "]
      )
      const row = { question: "", answer: "1 + 1 = 2\n#### 1,002" }
      assert.deepStrictEqual(
        ["so\n#### 1002", "#### 1,002.", "#### 3", "1002", "#### 1002 or 3"].map((text) =>
          Gsm8kExample.scoreOf(text, row)
        ),
        [1, 1, 0.1, 0, 0]
      )
    }).pipe(Effect.scoped, Effect.provide(NodeServices.layer))
  )
})
