/** Every command line of README, the pages and the examples is one that the command takes. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Console, Effect, Exit } from "effect"
import * as Command from "effect/cli/Command"
import { existsSync, globSync, readFileSync } from "node:fs"
import { isCollection, isScalar, parseAllDocuments, visit } from "yaml"
import { UsageError } from "../../src/base/Failure.ts"
import type { CliCommand } from "../../src/commands/CliCommand.ts"
import { commands } from "../../src/Commands.ts"
import * as Words from "../../src/config/Words.ts"
import * as Bin from "../Bin.ts"
import * as PageCommands from "./PageCommands.ts"

const isVerb = (word: string | undefined): word is keyof typeof commands => word !== undefined && word in commands

/** A file of one's own in place of the reader's, of the kind that its flag wants. */
const standIns: { readonly [flag: string]: string } = {
  env: Bin.myEnvironment,
  loss: `${PageCommands.root}packages/cli/test/fixtures/my-loss.ts`,
  suite: `${PageCommands.root}packages/cli/suites/gsm8k.yaml`
}

/** The words with something real in the places that the reader fills. */
const filled = (words: ReadonlyArray<string>): ReadonlyArray<string> =>
  words
    .filter((word, index) => word !== "…" || words[index - 1]?.startsWith("--") === true)
    // Further flags that a script leaves to whoever starts it.
    .filter((word) => !/^\$\{\w+:-\}$/.test(word))
    .map((word) => word.replaceAll(/\$\{[^}]*\}|\$\w+/g, "X"))
    .map((word, index, all) => {
      const standIn = standIns[/^--(\w+)$/.exec(all[index - 1] ?? "")?.[1] ?? ""]
      if (word === "…" || /^[A-Z]+$/.test(word)) return standIn ?? "1"
      if (standIn === undefined) return word
      return /^\.{0,2}\/|\.(?:ts|yaml)$/.test(word) && !existsSync(`${PageCommands.root}${word}`) ? standIn : word
    })

/** Mistakes of a line that only names a command, in a sentence. */
const isLeftOut = ({ _tag, message }: { readonly _tag: string; readonly message: string }): boolean =>
  ["MissingOption", "MissingArgument"].includes(_tag) || message.startsWith("Missing value")

const quiet = { ...globalThis.console, log: () => undefined, error: () => undefined } as Console.Console

/** The command reads the words to the end, and then does nothing. */
const parsed = (given: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    // `Root` reads `--help-all` as `--help`.
    const words = filled(given).map((word) => (word === "--help-all" ? "--help" : word))
    const name = Words.subcommand(words)
    if (name === undefined && words.every((word) => ["--help", "--version"].includes(word))) return
    if (!isVerb(name)) return yield* new UsageError({ message: `there is no verb ${name ?? ""}` })
    const { make } = yield* Effect.promise(
      (): Promise<{ readonly make: (typeof import("../../src/commands/Up.ts"))["make"] }> => commands[name].load()
    )
    const verb: CliCommand = yield* make(words)
    const root = Command.make("atropos").pipe(
      Command.withSubcommands([verb.command.pipe(Command.withHandler(() => Effect.void))])
    )
    const spelled = Words.normalizeBooleans(verb.normalizeArgs?.(words) ?? words, verb.booleans ?? new Set<string>())
    yield* Command.runWith(root, { version: "0.0.0" })(spelled)
  }).pipe(Effect.provideService(Console.Console, quiet), Effect.provide(NodeServices.layer))

describe("the command lines of the pages", () => {
  it.live("are ones that the command takes", () =>
    Effect.gen(function* () {
      const commands = PageCommands.pages.flatMap((page) => PageCommands.commandsOf(page))
      assert.isAbove(commands.length, 150)
      const wrong: Array<string> = []
      for (const { at, isMention, text, words } of commands) {
        const problems = yield* Effect.match(parsed(words), {
          onSuccess: () => [],
          onFailure: (error) =>
            error._tag === "ShowHelp"
              ? error.errors.filter((one) => !isMention || !isLeftOut(one)).map(({ message }) => message)
              : [error.message]
        })
        for (const problem of problems) wrong.push(`${at}: ${text}: ${problem}`)
      }
      assert.deepStrictEqual(wrong, [])
    })
  )

  it.live("in the containers of examples/cluster are, too", () =>
    Effect.gen(function* () {
      const files = globSync("examples/cluster/*.yaml", { cwd: PageCommands.root })
      const words: Array<ReadonlyArray<string>> = []
      for (const file of files) {
        for (const document of parseAllDocuments(readFileSync(`${PageCommands.root}${file}`, "utf8"))) {
          assert.deepStrictEqual(document.errors, [], file)
          visit(document, {
            Pair: (_, { key, value }) => {
              if (isScalar(key) && key.value === "args" && isCollection(value)) {
                words.push(value.toJSON() as ReadonlyArray<string>)
              }
            }
          })
        }
      }
      assert.sameMembers(
        words.map(([verb]) => verb),
        ["api", "serve", "train"]
      )
      for (const one of words) yield* parsed(one)
    })
  )

  it.live("would not be with another flag, another value, another verb or another environment", () =>
    Effect.gen(function* () {
      for (const line of [
        "npx @atropos/cli serve --env gsm8k --env.groupsize 8",
        "npx @atropos/cli serve --env gsm8k --env.group_size many",
        "npx @atropos/cli serve --env gsm9k",
        "npx @atropos/cli evaluate --suite mmmlu",
        "npx @atropos/cli serv --env gsm8k",
        "npx @atropos/cli api --ports 8000",
        "npx @atropos/cli view a.jsonl --html"
      ]) {
        const [words = []] = PageCommands.split(line)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(parsed(words.slice(2)))), line)
      }
    })
  )

  it("are split as a shell splits them", () => {
    assert.deepStrictEqual(PageCommands.split(`a 'b c' "d \\"e" f\\ g # h`), [["a", "b c", 'd "e', "f g"]])
    assert.deepStrictEqual(PageCommands.split("a *.jsonl; b && c | d 'x*'"), [
      ["a", "a.jsonl", "b.jsonl"],
      ["b"],
      ["c"],
      ["d", "x*"]
    ])
    assert.throws(() => PageCommands.split("a 'b"), "not closed")
  })
})
