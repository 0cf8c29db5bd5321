/**
 * Generates the files of a new environment: a small working one, its test, and what they need to run outside this
 * repository. The test only needs Node. In a checkout of Atropos a flag of Node selects the packages' sources.
 */

export interface StarterOptions {
  /** Lower-case words joined by dashes: the registered name. */
  readonly name: string
  /** Versions of the packages of Atropos and Effect, by name. */
  readonly dependencies: { readonly [name: string]: string }
  readonly isCheckout: boolean
}

export const isName = (name: string): boolean => /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)

/** Path in the new folder -> content. */
export const files = (options: StarterOptions): ReadonlyMap<string, string> =>
  new Map([
    ["package.json", packageJson(options)],
    ["tsconfig.json", tsconfig(options)],
    [`${options.name}.ts`, environment(options)],
    [`${options.name}.test.ts`, test(options)]
  ])

const json = (value: unknown): string => `${JSON.stringify(value, null, 2)}\n`

/** The Node command with its flags, before the script's arguments. */
export const node = ({ isCheckout }: Pick<StarterOptions, "isCheckout">): string =>
  isCheckout ? "node --conditions=atropos-src" : "node"

export const packageJson = (options: StarterOptions): string =>
  json({
    name: options.name,
    version: "0.1.0",
    private: true,
    type: "module",
    engines: { node: ">=22.19" },
    scripts: {
      test: `${node(options)} --test`,
      validate: `atropos validate --env ./${options.name}.ts`,
      try: `atropos process --env ./${options.name}.ts --testing --env.total_steps 4`
    },
    dependencies: options.dependencies,
    // Only for editors and `tsc`.
    devDependencies: { "@types/node": "^24", typescript: "^7" }
  })

/** For TypeScript 5.9 and later. */
export const tsconfig = ({ isCheckout }: StarterOptions): string =>
  json({
    compilerOptions: {
      target: "ES2024",
      lib: ["ESNext"],
      types: ["node"],
      module: "NodeNext",
      strict: true,
      noEmit: true,
      allowImportingTsExtensions: true,
      erasableSyntaxOnly: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
      ...(isCheckout && { customConditions: ["atropos-src"] })
    },
    include: ["*.ts"]
  })

const environment = ({ name }: StarterOptions): string => `/**
 * ${name}: doubles numbers. Replace the item, the prompt and the score by your own; what each part may be is in
 * docs/writing-an-environment.md of @atropos/core.
 */
import { Environment, Message, ServerManager, type Trajectory } from "@atropos/core"
import { Effect, Schema, Stream } from "effect"

/**
 * Its settings, in addition to those of all environments: \`--env.largest 20\`, or \`largest: 20\` under \`env:\` of
 * a file.
 */
const settings = Environment.settings({
  largest: Environment.field(Schema.Int, 99, "largest number asked for"),
  // The byte-level tokenizer needs no download; name your policy's to train a model.
  tokenizerName: Environment.field(Schema.String, "bytes", "the policy's tokenizer: hub id or folder")
})

/** Parses the last number of a completion. Pure, so that a test needs no model. */
export const answerOf = (completion: string): number => Number(completion.match(/-?\\d+/g)?.at(-1))

export const layer = Environment.layer("${name}", settings, ({ groupSize, largest, maxTokenLength }) =>
  Effect.gen(function* () {
    const servers = yield* ServerManager.ServerManager

    const ask = (n: number, sampling: Pick<ServerManager.ChatRequest, "n" | "split" | "temperature">) =>
      servers.chat({
        messages: [Message.user(\`What is \${n} + \${n}? End with the number.\`)],
        maxTokens: maxTokenLength,
        ...sampling
      })

    return {
      /** Items from number \`cursor\` on: a restarted run continues where it stopped. */
      items: (cursor: number) =>
        Stream.range(cursor, Number.MAX_SAFE_INTEGER).pipe(Stream.map((index) => index % (largest + 1))),
      /** A group: answers to one prompt, to be compared with each other. */
      collectTrajectories: (n: number) => ask(n, { n: groupSize, temperature: 1 }),
      /** One score per answer, in their order. */
      score: (n: number, group: ReadonlyArray<Trajectory.Trajectory>) =>
        Effect.succeed(group.map(({ completion }) => (answerOf(completion) === 2 * n ? 1 : 0))),
      /** Held out: never trained on. */
      evaluation: {
        items: Stream.range(largest + 1, largest + 20),
        collectTrajectories: (n: number) => ask(n, { n: 1, split: "eval", temperature: 0 })
      },
      /** Checked by \`atropos validate\`. */
      claims: {
        scoreRange: [0, 1] as const,
        gold: (n: number) => [\`\${2 * n}\`, \`\${n} + \${n} is \${2 * n}.\`],
        wrong: (n: number) => [\`\${2 * n + 1}\`, \`\${2 * n}? No, \${2 * n + 2}.\`, "I do not know."]
      }
    }
  })
)
`

const test = ({
  name
}: StarterOptions): string => `/** Run it with \`npm test\`. A scripted policy answers, so no model and no server is needed. */
import assert from "node:assert/strict"
import { test } from "node:test"
import { Environment, ServerManager, Tokenizer } from "@atropos/core"
import { Effect, Layer, Option, Stream } from "effect"
import { answerOf, layer } from "./${name}.ts"

/** Runs with the environment, and a policy that says these things in turn. */
const withAnswers = <A>(
  answers: ReadonlyArray<string>,
  use: (environment: Environment.EnvironmentShape) => Effect.Effect<A, unknown>
): Promise<A> =>
  Effect.flatMap(Environment.Environment, use).pipe(
    Effect.provide(
      layer({ groupSize: answers.length }).pipe(
        Layer.provide([ServerManager.layerScripted(answers), Tokenizer.layerBytes])
      )
    ),
    Effect.runPromise
  )

test("reads the number an answer ends with", () => {
  assert.equal(answerOf("1 + 1 is 2."), 2)
  assert.equal(answerOf("-4"), -4)
  assert.ok(Number.isNaN(answerOf("I do not know.")))
})

test("scores a group", () =>
  withAnswers(["It is 0.", "2", "none"], ({ groups }) =>
    Effect.gen(function* () {
      const first = Option.getOrThrow(yield* Stream.runHead(groups))
      assert.deepEqual(Array.from(first.scores), [1, 0, 0])
    })
  ))

test("keeps what it claims: gold answers score 1, wrong ones 0", () =>
  withAnswers(["?"], ({ claims }) =>
    Effect.gen(function* () {
      const items = yield* Option.getOrThrow(claims).items.pipe(Stream.take(20), Stream.runCollect)
      for (const { gold, score, wrong } of items) {
        assert.deepEqual(yield* score([...gold, ...wrong]), [...gold.map(() => 1), ...wrong.map(() => 0)])
      }
    })
  ))

test("resumes from any item", () =>
  withAnswers(["?"], ({ work }) =>
    Effect.gen(function* () {
      const labels = (cursor: number, count: number) =>
        work(cursor).pipe(
          Stream.take(count),
          Stream.map(({ label }) => label),
          Stream.runCollect
        )
      assert.deepEqual((yield* labels(0, 8)).slice(5), yield* labels(5, 3))
    })
  ))
`
