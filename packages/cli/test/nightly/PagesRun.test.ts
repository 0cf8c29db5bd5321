/** Runs what README and the pages show: every command line that needs nothing but this machine. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { assert, describe, layer } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as Bin from "../Bin.ts"
import * as InProcess from "../InProcess.ts"
import * as TestServer from "../../../core/test/inference/TestServer.ts"
import * as PageCommands from "../pages/PageCommands.ts"
import * as PageRuns from "../pages/PageRuns.ts"
import * as PageTypes from "../pages/PageTypes.ts"

/** The code of a page that calls itself by this name. */
const block = (page: string, name: string): string =>
  PageTypes.blocksOf(page).find(({ code }) => code.startsWith(`// ${name}\n`))!.code

layer(NodeServices.layer, { excludeTestServices: true })("the pages", (it) => {
  describe("commands", () => {
    it.effect("are all run, or left alone for a reason", () =>
      Effect.sync(() => {
        for (const page of PageRuns.pages) {
          const commands = PageCommands.commandsOf(page).filter(({ isMention }) => !isMention)
          for (const { at, text, words } of commands) {
            assert.isDefined(PageRuns.of(page, words), `${at}: ${text}: PageRuns.ts says nothing of it`)
          }
          for (const { line } of PageRuns.all.filter((one) => one.page === page)) {
            const used = commands.some(({ words }) => PageRuns.of(page, words)?.line === line)
            assert.isTrue(used, `${page} has no line that begins with ${line}`)
          }
        }
      })
    )

    it.effect("do what they say, one after the other, in an empty folder", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const cwd = yield* InProcess.folder
        yield* fs.writeFileString(`${cwd}/my-loss.ts`, block("docs/losses.md", "my-loss.ts"))
        // As beside an installed command.
        yield* fs.symlink(`${PageCommands.root}node_modules`, `${cwd}/node_modules`)
        for (const { how, line, page } of PageRuns.all) {
          if (how.as === "left alone" || how.as === "scripted") continue
          const { at, text, words } = PageCommands.commandsOf(page).find(
            (one) => !one.isMention && PageRuns.of(page, one.words)?.line === line
          )!
          if (how.as === "serves") {
            yield* InProcess.start(PageRuns.atFreePort(words)).pipe(
              Effect.flatMap(({ says }) => says(how.says)),
              Effect.scoped
            )
            continue
          }
          const { code, stderr, stdout } = yield* InProcess.run([...words, ...(how.more ?? [])])
          assert.strictEqual(code, 0, `${at}: ${text}\n${stderr}`)
          assert.notStrictEqual(stdout.trim(), "", at)
          if (!(yield* fs.exists(`${cwd}/sessions.jsonl`)))
            yield* fs.copyFile(`${cwd}/out.jsonl`, `${cwd}/sessions.jsonl`)
        }
        assert.strictEqual((yield* fs.readFileString(`${cwd}/out.jsonl`)).trim().split("\n").length, 50)
        for (const made of ["my-env", "sft.jsonl"]) assert.isTrue(yield* fs.exists(`${cwd}/${made}`), made)
      })
    )
  })

  describe("the built-in environments", () => {
    it.effect("are tried as their page shows it, without a model", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        yield* InProcess.folder
        for (const { how, line, page } of PageRuns.all) {
          if (how.as !== "scripted") continue
          const { at, text, words } = PageCommands.commandsOf(page).find(
            (one) => !one.isMention && PageRuns.of(page, one.words)?.line === line
          )!
          const { code, stderr, stdout } = yield* InProcess.run(PageRuns.asScripted(words))
          assert.strictEqual(code, 0, `${at}: ${text}\n${stderr}`)
          assert.notStrictEqual(stdout.trim(), "", at)
          assert.isTrue(yield* fs.exists("out.jsonl"), at)
          yield* fs.remove("out.jsonl")
        }
      })
    )
  })

  describe("an environment with a judge", () => {
    it.effect("keeps what the judge said beside each score", () =>
      Effect.gen(function* () {
        const fs = yield* FileSystem.FileSystem
        const cwd = yield* Bin.folder
        yield* fs.writeFileString(`${cwd}/essays.ts`, block("docs/writing-an-environment.md", "essays.ts"))
        yield* fs.symlink(`${PageCommands.root}node_modules`, `${cwd}/node_modules`)
        const { url } = yield* TestServer.make(({ path }) =>
          path.endsWith("/chat/completions") ? TestServer.chatReply(["Vivid. Grade: 12"]) : { json: { data: [] } }
        )
        const words = "process --env ./essays.ts --testing --env.total_steps 1 --env.group_size 2".split(" ")
        const judge = ["--judge.base_url", `${url}/v1`, "--judge.model_name", "judge"]
        const kept = ["--env.data_path_to_save_groups", "out.jsonl", "--env.ensure_scores_are_not_same", "False"]
        const { code, stderr } = yield* Bin.run([...words, ...judge, ...kept], { cwd })
        assert.strictEqual(code, 0, stderr)
        const [group = ""] = (yield* fs.readFileString(`${cwd}/out.jsonl`)).split("\n")
        const { overrides, scores } = JSON.parse(group) as {
          readonly scores: ReadonlyArray<number>
          readonly overrides: ReadonlyArray<unknown>
        }
        // No judge gives more than there is.
        assert.deepStrictEqual(scores, [1.1, 1.1])
        const one = { rationale: "Vivid. Grade: 12", rewards: { quality: 1, brief: 0.1 } }
        assert.deepStrictEqual(overrides, [one, one])
      })
    )
  })
})
