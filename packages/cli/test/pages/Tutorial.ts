/** Does what a tutorial of examples/tutorials says: its commands in their order, in a folder with its files. */
import { assert } from "@effect/vitest"
import { Effect, FileSystem } from "effect"
import * as InProcess from "../InProcess.ts"
import * as PageCommands from "./PageCommands.ts"
import * as PageTypes from "./PageTypes.ts"

const folder = "examples/tutorials"

/** A folder as a reader has it: the files of all tutorials, next to installed packages. */
export const makeFolder = Effect.gen(function* () {
  const fs = yield* FileSystem.FileSystem
  const cwd = yield* InProcess.folder
  yield* fs.symlink(`${PageCommands.root}node_modules`, `${cwd}/node_modules`)
  for (const file of yield* fs.readDirectory(`${PageCommands.root}${folder}`)) {
    if (file.endsWith(".ts")) yield* fs.copyFile(`${PageCommands.root}${folder}/${file}`, `${cwd}/${file}`)
  }
  return cwd
})

const serving: ReadonlySet<string> = new Set(["api", "policy", "serve"])

/** Runs the commands of a tutorial; those that serve stay up until the scope closes. Gives what the others printed. */
export const follow = Effect.fnUntraced(function* (name: string) {
  const fs = yield* FileSystem.FileSystem
  const page = `${folder}/${name}.md`
  for (const { code } of PageTypes.blocksOf(page)) {
    const file = /^\/\/ (\S+)\n/.exec(code)?.[1]
    assert.strictEqual(code, yield* fs.readFileString(`${PageCommands.root}${folder}/${file}`), `${page} shows ${file}`)
  }
  const printed: Array<string> = []
  // The page's ports may be taken: a port of the page -> where its server really listens.
  const ports = new Map<string, string>()
  for (const { at, isMention, text, words } of PageCommands.commandsOf(page)) {
    if (isMention) continue
    const there = words.map((word) =>
      word.replaceAll(/localhost:(\d+)/g, (_, port: string) => `127.0.0.1:${ports.get(port) ?? port}`)
    )
    if (serving.has(words[0] ?? "")) {
      const place = words.indexOf("--port") + 1
      const server = yield* InProcess.start(place === 0 ? there : there.with(place, "0"))
      if (place > 0) ports.set(words[place]!, (yield* server.says(/http:\/\/[^\s:]+:(\d+)/))[1]!)
      continue
    }
    const { code, stderr, stdout } = yield* InProcess.run(there)
    assert.strictEqual(code, 0, `${at}: ${text}\n${stderr}`)
    printed.push(stdout)
  }
  assert.isNotEmpty(printed)
  return printed
}, Effect.scoped)
