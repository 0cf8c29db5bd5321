/**
 * Runs every example for its output: in this process, or in a separate one if a reader starts it by the command or the
 * test runner. Models are scripted, as in the tests of the examples.
 */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { Message } from "@atropos/core"
import type * as StepMetrics from "@atropos/trainer/run/StepMetrics"
import { ArithmeticStories } from "@atropos/envs"
import { Effect } from "effect"
import { TestConsole } from "effect/testing"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as TheWholeLoop from "../../examples/00-the-whole-loop.ts"
import * as Letters from "../../examples/01-letters.ts"
import * as TwoEnvironments from "../../examples/02-two-environments.ts"
import * as Embedding from "../../examples/04-embedding.ts"
import * as MultiTurn from "../../examples/05-multi-turn.ts"
import * as TrainYourOwn from "../../examples/06-train-your-own.ts"
import * as TrainingStream from "../../examples/07-training-stream.ts"
import * as PushToVllm from "../../examples/08-push-to-vllm.ts"
import * as StepWise from "../../examples/10-step-wise.ts"
import * as Judge from "../../examples/11-judge.ts"
import * as Pictures from "../../examples/12-pictures.ts"
import * as FollowUpItems from "../../examples/13-follow-up-items.ts"
import * as SandboxExample from "../../examples/14-sandbox.ts"
import * as Mix from "../../examples/15-mix.ts"
import * as Tools from "../../examples/16-tools.ts"
import * as AiSdkAgent from "../../examples/17-ai-sdk-agent.ts"
import * as CalculatorAgent from "../../examples/19-calculator-agent.ts"
import * as Compaction from "../../examples/21-compaction.ts"
import * as Gsm8k from "../../examples/20-gsm8k.ts"
import * as Printed from "../../examples/test/Printed.ts"
import * as TestServer from "../../packages/core/test/inference/TestServer.ts"
import type { Output } from "./ExampleFigure.ts"

const root = fileURLToPath(new URL("../../", import.meta.url))

const printed = <E>(program: Effect.Effect<unknown, E>) =>
  Printed.printed(program).pipe(Effect.provide(TestConsole.layer))

/** `step 10: reward 0.22` */
const rewards = <E>(program: Effect.Effect<unknown, E>) =>
  Effect.map(printed(program), (lines) =>
    lines.map((line) => {
      const [, step, reward] = /^step (\d+): reward (\S+)$/.exec(line) ?? []
      return [Number(step), Number(reward)] as const
    })
  )

const turnsOf = (messages: ReadonlyArray<Message.Message>) =>
  messages.map((message): readonly [string, string] => [
    message.role,
    [
      Message.text(message),
      ...(message.tool_calls ?? []).map((call) => `${call.function.name}(${call.function.arguments})`)
    ]
      .filter((text) => text !== "")
      .join("\n")
  ])

const rollout = Effect.fn("ExampleOutputs.rollout")(function* (
  agent: Parameters<typeof Printed.rolledOut>[0],
  say: Printed.Say
) {
  const { messages, scores } = yield* Printed.rolledOut(agent, say)
  return { turns: turnsOf(messages?.[0] ?? []), outcome: `score ${scores[0]}` }
})

/** The requests to vLLM, and the example's output. */
const pushed = Effect.gen(function* () {
  const server = yield* TestServer.make(({ method }) =>
    method === "POST" ? { text: "Success" } : { status: 405, text: "" }
  )
  const lines = yield* printed(PushToVllm.program(server.url))
  return [
    ...server.asked
      .filter(({ method }) => method === "POST")
      .map(({ body, path }) => `POST ${path}  ${String(body["lora_name"])}`),
    ...lines
  ]
}).pipe(Effect.scoped)

const node = (cwd: string, ...words: ReadonlyArray<string>): string =>
  execFileSync(process.execPath, words, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] })

const command = (cwd: string, words: string): string =>
  node(cwd, "--conditions=atropos-src", join(root, "packages/cli/bin/atropos.js"), ...words.split(" "))

const folder = (): string => mkdtempSync(join(tmpdir(), "atropos-figures-"))

const testsPassed = (): ReadonlyArray<string> => {
  const file = join(folder(), "tests.json")
  const runner = join(root, "node_modules/vitest/vitest.mjs")
  node(root, runner, "run", "--reporter=json", `--outputFile=${file}`, "examples/03-scoring-properties.test.ts")
  const { testResults } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly testResults: ReadonlyArray<{
      readonly assertionResults: ReadonlyArray<{ readonly status: string; readonly title: string }>
    }>
  }
  return testResults.flatMap(({ assertionResults }) =>
    assertionResults.map(({ status, title }) => `${status === "passed" ? "✓" : "✗"} ${title}`)
  )
}

/** A group of the configured data set, from rows of a file, with a policy that repeats its prompt. */
const fromRows = () => {
  const cwd = folder()
  const rows = join(root, "packages/cli/test/fixtures/rows/questions.jsonl")
  const config = `--env dataset --config ${join(root, "examples/09-dataset.yaml")} --env.source ${rows} --env.test_source ${rows}`
  command(cwd, `process ${config} --testing --env.total_steps 1 --env.data_path_to_save_groups out.jsonl`)
  const [group = ""] = readFileSync(join(cwd, "out.jsonl"), "utf8").split("\n")
  const { messages, scores } = JSON.parse(group) as {
    readonly messages: ReadonlyArray<ReadonlyArray<Message.Message>>
    readonly scores: ReadonlyArray<number>
  }
  return { turns: turnsOf(messages[0] ?? []), outcome: `scores ${scores.map((score) => score.toFixed(2)).join(" ")}` }
}

/** The exploitability of the play during training. */
const selfPlay = (): ReadonlyArray<readonly [number, number]> => {
  const cwd = folder()
  command(cwd, `up --env ${join(root, "examples/18-self-play.ts")} --port 0 --policy_port 0`)
  return readFileSync(join(cwd, ".atropos/up/kuhn-poker-1/kuhn-poker.metrics.jsonl"), "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { readonly step: number; readonly exploitability?: number })
    .flatMap(({ exploitability, step }) => (exploitability === undefined ? [] : [[step, exploitability] as const]))
}

const stream = Effect.map(TrainingStream.program(0.8), (lines) =>
  lines.map((line, index) => {
    const values = JSON.parse(line) as ReturnType<typeof StepMetrics.values>
    return [index + 1, Number(values["reward/mean"])] as const
  })
)

const reward = "mean reward"

/** All of them, in order. */
export const all = (): Promise<ReadonlyArray<Output>> =>
  Effect.gen(function* () {
    const story = ArithmeticStories.story({ seed: 0, index: 0, difficulty: 2, largestNumber: 20 })
    const lines = <E>(example: string, title: string, program: Effect.Effect<unknown, E>) =>
      Effect.map(printed(program), (told): Output => ({ example, title, lines: told }))
    const outputs: ReadonlyArray<Output> = [
      {
        example: "00-the-whole-loop",
        title: "Reward by step",
        of: reward,
        curve: yield* rewards(TheWholeLoop.program)
      },
      yield* lines("01-letters", "Scores of three groups", Letters.program),
      yield* lines("02-two-environments", "Batches filled from two environments", TwoEnvironments.program),
      { example: "03-scoring-properties", title: "The laws that hold", lines: testsPassed() },
      yield* lines("04-embedding", "Both routes answer", Embedding.program),
      yield* lines("05-multi-turn", "Scores of four games", MultiTurn.program),
      {
        example: "06-train-your-own",
        title: "Reward by step",
        of: reward,
        curve: yield* rewards(TrainYourOwn.program)
      },
      { example: "07-training-stream", title: "Reward by step", of: reward, curve: yield* stream },
      { example: "08-push-to-vllm", title: "What the server is asked for", lines: yield* pushed },
      { example: "09-dataset", title: "A rollout of a row", ...fromRows() },
      yield* lines("10-step-wise", "What the moves of two turns are worth", StepWise.program),
      yield* lines("11-judge", "Scores by a judge", Judge.program),
      yield* lines("12-pictures", "Scores of three groups", Pictures.program),
      yield* lines("13-follow-up-items", "Items and what came of them", FollowUpItems.program),
      yield* lines("14-sandbox", "Scores of two groups of programs", SandboxExample.program),
      yield* lines("15-mix", "Shares of the batches", Mix.program),
      yield* lines("16-tools", "Scores and advantages of turns", Tools.program),
      {
        example: "17-ai-sdk-agent",
        title: "A rollout of the agent",
        ...(yield* rollout(AiSdkAgent.default, Printed.sayPrice))
      },
      { example: "18-self-play", title: "Exploitability by step", of: "exploitability", curve: selfPlay() },
      {
        example: "19-calculator-agent",
        title: "A rollout of the agent",
        ...(yield* rollout(CalculatorAgent.default, Printed.calculateTwice(story.answer)))
      },
      {
        example: "20-gsm8k",
        title: "Scores of answers whose reference is 72",
        lines: ["48 + 24 = 72\n#### 72", "48 + 24 = 70\n#### 70", "The answer is 72."].map(
          (answer) =>
            `score ${Gsm8k.scoreOf(answer, { question: "How many clips?", answer: "#### 72" })}: ${answer.replace("\n", " ")}`
        )
      },
      {
        example: "21-compaction",
        title: "The first of three chats of a run",
        ...(yield* rollout(Compaction.default, Printed.keepSums))
      }
    ]
    return outputs
  }).pipe(Effect.scoped, Effect.provide(NodeServices.layer), Effect.runPromise)
