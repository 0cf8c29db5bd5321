/**
 * Runs the first pages that users read: every shell line of docs/installing.md and of README's quick start, each in an
 * empty folder, the Express program of the page, and the README lines that need nothing else.
 */
import { strict as assert } from "node:assert"
import { createServer, type AddressInfo } from "node:net"
import { join } from "node:path"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import * as PageCommands from "../../../packages/cli/test/pages/PageCommands.ts"
import * as PageRuns from "../../../packages/cli/test/pages/PageRuns.ts"
import * as PageTypes from "../../../packages/cli/test/pages/PageTypes.ts"
import type { Outsider } from "./Outsider.ts"

const page = "docs/installing.md"
const needed = /npm install node@24/.exec(readFileSync(join(PageCommands.root, page), "utf8"))?.[0]

/** Output at the end of a line that trains. */
const isTrained = /held-out items solved/
const isRefused = /needs Node 22\.19 or newer and runs under v20/

const freePort = async (): Promise<number> => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  // A listening server has an address.
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

const askService = (port: number) => `await import("./app.ts")
const ask = async () => {
  try {
    return await fetch("http://127.0.0.1:${port}/atropos/status")
  } catch (error) {
    if (error.cause?.code !== "ECONNREFUSED") throw error
    return new Promise((resolve) => setTimeout(resolve, 50)).then(ask)
  }
}
const answer = await ask()
console.log(answer.status, JSON.stringify(await answer.json()))
process.exit()
`

/** The program of "Inside of Express", in the folder in which its packages were installed. */
const insideOfExpress = async ({ must, say }: Outsider, cwd: string) => {
  const code = PageTypes.blocksOf(page).find((block) => block.code.includes(`from "express"`))?.code
  assert.ok(code, `${page} has no program with Express`)
  const port = await freePort()
  assert.match(code, /listen\(8000,/)
  await must(cwd, "npm", "pkg", "set", "type=module")
  await must(cwd, "npm", "install", "express", "@types/express", "@types/node@24", "typescript@5.9")
  writeFileSync(join(cwd, "app.ts"), code.replace("listen(8000,", `listen(${port},`))
  writeFileSync(join(cwd, "ask.js"), askService(port))
  const types = "--noEmit --strict --skipLibCheck --target ES2024 --module NodeNext --types node app.ts"
  await must(cwd, "npx", "tsc", ...types.split(" "))
  assert.match(await must(cwd, "node", "ask.js"), /^200 \{.*"current_step":0/m)
  say("the service inside of Express: its types hold, and it answers")
}

/** Every line of docs/installing.md. */
export const installing = async (outsider: Outsider) => {
  const lines = PageCommands.shellLinesOf(page)
  assert.equal(lines.length, 4, `${page} has other lines than it had: look at how they are run`)
  for (const { at, code } of lines) {
    const cwd = outsider.folder(at.replaceAll(/\W/g, "-"))
    const trains = code.endsWith(" up")
    if (trains && !outsider.isNewEnough) {
      assert.match((await outsider.type(cwd, code)).output, isRefused, `${at}: ${code}`)
      assert.ok(needed, `${page} does not say what to do on an older Node`)
      // The plain command would use the shell's Node.
      if (code.includes("--global")) continue
      await outsider.must(cwd, ...needed.split(" "))
    }
    const { output, status } = await outsider.type(cwd, code)
    assert.equal(status, 0, `${at}: ${code}: ${output}`)
    if (trains) assert.match(output, isTrained, `${at}: ${code}`)
    outsider.say(`${at}: ${code}`)
    if (!trains && outsider.isNewEnough) await insideOfExpress(outsider, cwd)
  }
}

/** Every line of README's first steps, in a clone, which has only committed files. */
export const firstSteps = async (outsider: Outsider) => {
  const [clone, ...lines] = PageCommands.shellLinesOf("README.md").filter(({ section }) => section === "Try it")
  assert.ok(clone?.code.startsWith("git clone"))
  assert.ok(lines.length > 0)
  const cwd = outsider.folder("clone")
  await outsider.must(cwd, "git", "clone", "--quiet", "--depth", "1", `file://${PageCommands.root}`, ".")
  for (const { at, code } of lines) {
    const { output, status } = await outsider.type(cwd, code)
    assert.equal(status, 0, `${at}: ${code}: ${output}`)
    assert.match(output, isTrained)
    outsider.say(`${at}: ${code}`)
  }
}

/** The README lines that PageRuns runs, in a folder that has the command. */
export const readme = async ({ must, say, serves }: Outsider, cwd: string) => {
  for (const { how, line, page } of PageRuns.all.filter((one) => one.page === "README.md")) {
    if (how.as !== "runs" && how.as !== "serves") continue
    const found = PageCommands.commandsOf(page).find(
      (one) => !one.isMention && PageRuns.of(page, one.words)?.line === line
    )
    assert.ok(found, `${page} has no line that begins with ${line}`)
    const command = ["npx", "@atropos/cli", ...PageRuns.atFreePort(found.words)]
    if (how.as === "serves") await serves(cwd, how.says, ...command)
    else await must(cwd, ...command, ...(how.more ?? []))
    say(`${found.at}: ${line} …`)
  }
  assert.ok(existsSync(join(cwd, "out.jsonl")))
}
