/** What README and the pages show, done: commands that need nothing but this machine, and every block of TypeScript. */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import { ChildProcess, ChildProcessSpawner } from "effect/process"
import * as Bin from "../Bin.ts"
import * as PageCommands from "../pages/PageCommands.ts"
import * as PageTypes from "../pages/PageTypes.ts"

/** The lines that run here, by what they begin with; each must be on its page. Earlier ones make what later read. */
const here: ReadonlyArray<readonly [page: string, ...beginnings: ReadonlyArray<string>]> = [
  [
    "README.md",
    "process --env arithmetic-stories",
    "validate --env arithmetic-stories",
    "init my-env",
    "envs",
    "doctor",
    "serve --help"
  ],
  ["docs/evaluations.md", "evaluate suites", "evaluate suites mmlu-pro"],
  ["docs/losses.md", "validate --loss ./my-loss.ts"],
  ["docs/agents.md", "evaluate --from sessions.jsonl", "sft-gen sft.jsonl --from"]
]

/** The code of a page that calls itself by this name. */
const block = (page: string, name: string): string =>
  PageTypes.blocksOf(page).find(({ code }) => code.startsWith(`// ${name}\n`))!.code

/** A dozen processes one after the other, or the compiler over all packages: minutes where much else runs. */
const patience = 600_000

layer(NodeServices.layer)("the pages", (it) => {
  describe("commands", () => {
    it.effect(
      "do what they say, one after the other, in an empty folder",
      () =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const cwd = yield* Bin.folder
          yield* fs.writeFileString(`${cwd}/my-loss.ts`, block("docs/losses.md", "my-loss.ts"))
          // As beside an installed command.
          yield* fs.symlink(`${PageCommands.root}node_modules`, `${cwd}/node_modules`)
          for (const [page, ...beginnings] of here) {
            const commands = PageCommands.commandsOf(page)
            for (const beginning of beginnings) {
              const command = commands.find(
                ({ isMention, words }) => !isMention && `${words.join(" ")} `.startsWith(`${beginning} `)
              )
              assert.isDefined(command, `${page} has no line that begins with ${beginning}`)
              const { code, stderr, stdout } = yield* Bin.run(command.words, { cwd })
              assert.strictEqual(code, 0, `${command.at}: ${command.text}\n${stderr}`)
              assert.notStrictEqual(stdout.trim(), "", command.at)
            }
            if (!(yield* fs.exists(`${cwd}/sessions.jsonl`)))
              yield* fs.copyFile(`${cwd}/out.jsonl`, `${cwd}/sessions.jsonl`)
          }
          assert.strictEqual((yield* fs.readFileString(`${cwd}/out.jsonl`)).trim().split("\n").length, 50)
          for (const made of ["my-env", "sft.jsonl"]) assert.isTrue(yield* fs.exists(`${cwd}/${made}`), made)
        }),
      patience
    )
  })

  describe("TypeScript", () => {
    it.effect(
      "is right as it stands, or within what the page says is around it",
      () =>
        Effect.gen(function* () {
          const fs = yield* FileSystem.FileSystem
          const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
          const folder = yield* fs.makeTempDirectoryScoped({
            directory: `${PageCommands.root}node_modules`,
            prefix: ".pages-"
          })
          const files = PageCommands.pages.flatMap((page) => PageTypes.blocksOf(page)).map(PageTypes.fileOf)
          assert.isAbove(files.length, 20)
          for (const { name, text } of files) yield* fs.writeFileString(`${folder}/${name}`, text)
          for (const [name, text] of Object.entries(PageTypes.beside))
            yield* fs.writeFileString(`${folder}/${name}`, text)
          const settings = {
            extends: `${PageCommands.root}tsconfig.json`,
            compilerOptions: { noUnusedLocals: false, plugins: [] },
            include: [],
            files: [...files.map(({ name }) => name), ...Object.keys(PageTypes.beside)]
          }
          yield* fs.writeFileString(`${folder}/tsconfig.json`, JSON.stringify(settings))
          const found = yield* spawner.string(
            ChildProcess.make("node", [
              `${PageCommands.root}node_modules/typescript/bin/tsc`,
              "--noEmit",
              "-p",
              `${folder}/tsconfig.json`
            ])
          )
          assert.strictEqual(found, "")
        }),
      patience
    )
  })
})
