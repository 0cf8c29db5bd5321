/** Settings files that are none: each is named for what it is, within a second, and none passes for a fault of ours. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, FileSystem, Layer, Schema } from "effect"
import { TestConsole } from "effect/testing"
import * as YamlFile from "../src/config/YamlFile.ts"
import { UsageError } from "../src/base/Failure.ts"
import * as Presentation from "../src/help/Presentation.ts"
import * as Report from "../src/base/Report.ts"
import * as Root from "../src/Root.ts"
import * as SettingHints from "../src/config/SettingHints.ts"
import * as Bin from "./Bin.ts"

const letters = "abcdefghij"

/** Each list holds the one before nine times: a billion words of a kilobyte. */
const bomb = Array.from(letters, (name, at) =>
  at === 0
    ? `  ${name}: &${name} [x, x, x, x, x, x, x, x, x]`
    : `  ${name}: &${name} [${`*${letters[at - 1]},`.repeat(9)}]`
).join("\n")

const cases: ReadonlyArray<readonly [what: string, content: string | Uint8Array, told: RegExp]> = [
  ["aliases that unfold to a billion words", `env:\n${bomb}\n`, /its aliases \(\*name\) expand to too much/],
  [
    "an alias that names what it stands in",
    "env:\n  tags: &a [*a]\n",
    /an alias \(\*name\) refers to a value that contains it/
  ],
  [
    "a server that is its own address",
    "openai: &a {base_url: *a}\n",
    /an alias \(\*name\) refers to a value that contains it/
  ],
  ["an alias of nothing", "env: *nope\n", /Unresolved alias .*nope/],
  ["lists in lists", `env: ${"[".repeat(20_000)}${"]".repeat(20_000)}`, /nested more than 50 levels deep/],
  ["maps in maps", `env: ${"{a: ".repeat(60)}1${"}".repeat(60)}`, /nested more than 50 levels deep/],
  ["two documents", "env: {}\n---\nenv: {}\n", /:2:1: a second document starts here \(---\)/],
  ["more keys than settings have", `env:\n${"  key: 1\n".repeat(200_000)}`, /is larger than 128 KiB/],
  ["a key given twice", "env:\n  largest: 1\n  largest: 2\n", /:3:3: this is not valid YAML: Map keys must be unique/],
  ["tabs", "env:\n\tlargest: 2\n", /:2:1: this is not valid YAML: Tabs are not allowed as indentation/],
  ["bytes that are no text", Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0xfe), /is not UTF-8 text/],
  ["text in UTF-16", Buffer.from("\ufeffenv:\n  largest: 2\n", "utf16le"), /is not UTF-8 text/],
  ["NUL", "env:\n  largest: 2\0\n", /contains a NUL character/],
  ["a number beyond all", "env:\n  group_size: 1e400\n", /env\.group_size .*expected an integer, got Infinity/],
  ["no number", "env:\n  group_size: .nan\n", /env\.group_size .*expected an integer, got NaN/],
  ["a list of a list", "- [1]\n", /expected a map with the keys env/],
  ["a key of another kind", "? [1, 2]\n: 3\n", /unknown setting/],
  ["a key that JavaScript has", "env:\n  __proto__: {largest: 2}\n", /unknown setting "env\.__proto__"/],
  ["a page where a number belongs", `env:\n  largest: ${"x".repeat(100_000)}\n`, /expected number, got "x{199}…/]
]

const layer = Layer.mergeAll(NodeServices.layer, Presentation.layer)

const process = Effect.fnUntraced(function* (file: string) {
  const before = (yield* TestConsole.errorLines).length
  const exit = yield* Effect.exit(Root.run(["process", "--env", Bin.myEnvironment, "--testing", "--config", file]))
  let code = -1
  Report.teardown(exit, (given) => {
    code = given
  })
  return { code, said: (yield* TestConsole.errorLines).slice(before).map(String).join("\n") }
})

describe("a settings file", () => {
  it.effect("that is none is named for what it is", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const folder = yield* Bin.folder
      for (const [what, content, told] of cases) {
        const file = `${folder}/run.yaml`
        yield* fs.writeFile(file, typeof content === "string" ? Buffer.from(content) : content)
        const { code, said } = yield* process(file)
        assert.strictEqual(code, 2, `${what}: ${said}`)
        assert.match(said, told, what)
        assert.notInclude(said, "internal error", what)
        assert.isBelow(said.length, 600, what)
      }
      assert.match((yield* process(folder)).said, /cannot be read: it is a folder/)
      assert.match((yield* process(`${folder}/none`)).said, /cannot be read: file not found/)
    }).pipe(Effect.provide(layer))
  )

  const words =
    "&a *a &b *b <<: ? : - [ ] { } , # | > ! !! % @ ` \" ' --- ... ~ \\ !!set !!omap !!map .inf 1e999 0x env key:"
  const pieces = Schema.Literals([
    ...words.split(" "),
    "!!binary eA==",
    "\t",
    " ",
    "\n",
    "\n  ",
    "\n- ",
    "\u0000",
    "\ufeff"
  ] as ReadonlyArray<string>)

  it.effect.prop(
    "is read, or refused as the user's, whatever stands in it",
    [Schema.Array(Schema.Union([pieces, Schema.String]))],
    ([parts]) =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const file = `${yield* Bin.folder}/run.yaml`
        yield* fs.writeFile(file, Buffer.from(parts.join("")))
        const exit = yield* Effect.exit(YamlFile.read(file))
        if (Exit.isSuccess(exit)) return
        assert.isFalse(Cause.hasDies(exit.cause), Cause.pretty(exit.cause))
        assert.instanceOf(Cause.squash(exit.cause), UsageError)
      }).pipe(Effect.scoped, Effect.provide(NodeServices.layer)),
    { arbitrary: { runs: 100 } }
  )
})

describe("a setting that is gone", () => {
  it.effect("is refused with what replaces it, in a file and as a flag", () =>
    Effect.gen(function* () {
      const fs = yield* FileSystem.FileSystem
      const file = `${yield* Bin.folder}/run.yaml`
      const train = Effect.fnUntraced(function* (...words: ReadonlyArray<string>) {
        const before = (yield* TestConsole.errorLines).length
        yield* Effect.exit(Root.run(["train", "--model", "none", ...words]))
        return (yield* TestConsole.errorLines).slice(before).map(String).join("\n")
      })
      const scale = /use advantage_scale instead: population-std for true, none for false/
      const policy = /got "current"; use "trainer" instead/
      yield* fs.writeFileString(file, "loss:\n  normalize: true\n")
      assert.match(yield* train("--config", file), scale)
      assert.match(yield* train("--loss.normalize", "true"), scale)
      yield* fs.writeFileString(file, "loss:\n  old_policy: current\n")
      assert.match(yield* train("--config", file), policy)
      assert.match(yield* train("--loss.old_policy", "current"), policy)
      assert.match(yield* train("--adapter", "folder"), /--adapter; merge it into its model first/)
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it("of another library is refused with ours, as a flag and in its section", () => {
    const flags = ["--lr", "--env.group_size", "--loss.kl_coef"]
    assert.strictEqual(SettingHints.hint("--learning_rate", flags), '; did you mean "--lr"?')
    assert.strictEqual(SettingHints.hint("--num-generations", flags), '; did you mean "--env.group_size"?')
    assert.strictEqual(SettingHints.hint("num_generations", ["group_size"]), '; did you mean "group_size"?')
    assert.strictEqual(SettingHints.hint("beta", ["kl_coef", "preset"]), '; did you mean "kl_coef"?')
    // A command without it.
    assert.strictEqual(SettingHints.hint("--max_completion_length", ["--lr"]), "")
  })
})
