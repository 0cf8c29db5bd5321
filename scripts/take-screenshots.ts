/**
 * Retakes the pictures of docs/viewer.md, into docs/images: trains twice with `atropos up`, sends conversations and
 * runs written for the pictures (`internal/Conversations.ts`, `PictureRuns.ts`) to the same service, saves groups with
 * pictures by `atropos process`, and scores the answers written to them by `atropos reverify`.
 *
 *     node --conditions=atropos-src scripts/take-screenshots.ts [name of a picture …]
 *
 * Needs a chromium (`CHROMIUM_PATH`, else /usr/bin/chromium) and several minutes.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath, pathToFileURL } from "node:url"
import sharp from "sharp"
import { Effect } from "effect"
import * as BrokenRun from "../packages/cli/test/viewer/BrokenRun.ts"
import * as Chromium from "../packages/cli/test/viewer/Chromium.ts"
import * as Conversations from "./internal/Conversations.ts"
import * as JudgedGroups from "./internal/JudgedGroups.ts"
import * as PictureRuns from "./internal/PictureRuns.ts"
import * as SceneAnswers from "./internal/SceneAnswers.ts"

const images = fileURLToPath(new URL("../docs/images/", import.meta.url))
const command = fileURLToPath(new URL("../packages/cli/bin/atropos.js", import.meta.url))
const largest = 150_000
const wanted = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), "atropos-screenshots-"))

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer()
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

const running = new Set<ChildProcess>()

/** Starts the command; `says` waits for a line of its output. */
const start = (words: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, ["--conditions=atropos-src", command, ...words], { cwd: folder })
  running.add(child)
  let said = ""
  let look: (() => void) | undefined
  const hear = (bytes: Buffer) => {
    said += bytes.toString()
    look?.()
  }
  child.stdout.on("data", hear)
  child.stderr.on("data", hear)
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve)).finally(() => running.delete(child))
  const says = (what: RegExp): Promise<void> =>
    new Promise((resolve, reject) => {
      look = () => {
        if (what.test(said)) resolve()
      }
      look()
      void ended.then(() => reject(new Error(`${words.join(" ")} ended without ${what}:\n${said}`)))
    })
  return { child, ended, says, said: () => said }
}

const run = async (...words: ReadonlyArray<string>): Promise<void> => {
  const { ended, said } = start(words)
  if ((await ended) !== 0) throw new Error(`${words.join(" ")}:\n${said()}`)
}

const browser = await Chromium.launch()

const desktop: Chromium.BrowserContextOptions = { viewport: { width: 1440, height: 900 } }
const phone: Chromium.BrowserContextOptions = { viewport: { width: 390, height: 844 } }
const dark: Chromium.BrowserContextOptions = { ...desktop, colorScheme: "dark" }

const picture = async (
  name: string,
  url: string,
  ready: (page: Chromium.Page) => Promise<unknown>,
  options: Chromium.BrowserContextOptions = desktop
): Promise<void> => {
  if (wanted.length > 0 && !wanted.includes(name)) return
  const context = await browser.newContext(options)
  const page = await context.newPage()
  await page.goto(url)
  await ready(page)
  await page.mouse.move(0, 0)
  await page.evaluate("document.fonts.ready")
  // Curves and highlighted code appear a frame or two later.
  await page.waitForTimeout(1500)
  const palette = await sharp(await page.screenshot())
    .png({ palette: true, colours: 128, compressionLevel: 9, effort: 10 })
    .toBuffer()
  if (palette.length > largest) throw new Error(`${name}.png has ${palette.length} bytes, more than ${largest}`)
  writeFileSync(join(images, `viewer-${name}.png`), palette)
  console.log(`viewer-${name}.png: ${Math.round(palette.length / 1000)} kB`)
  await context.close()
}

/** Saves a note by a reviewer on a rollout. */
const note = async (
  url: string,
  run: string,
  group: string,
  rollout: number,
  labels: ReadonlyArray<string>,
  text: string
): Promise<void> => {
  const answer = await fetch(`${url}/v1/runs/${run}/rollouts/${group}/note`, {
    method: "PUT",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ rollout, bookmarked: true, labels, text })
  })
  if (!answer.ok) throw new Error(`note on group ${group}: ${await answer.text()}`)
}

const sees = (selector: string) => (page: Chromium.Page) => page.locator(selector).first().waitFor()

/** True if no picture was named, or one of these. */
const wants = (...names: ReadonlyArray<string>): boolean =>
  wanted.length === 0 || names.some((name) => wanted.includes(name))

const ofFiles = ["reverified", "saved-page", "pictures", "rationale", "times"]
const ofTraining = [
  "run",
  "run-dark",
  "run-phone",
  "comparison",
  "service",
  "settings",
  "timeline",
  "delete",
  "evaluations",
  "evaluation"
]

/** Two runs of `atropos up`, and pictures taken while the second one trains. */
const trained = async (port: number, ui: (address: string) => string): Promise<void> => {
  const up = ["up", "--port", String(port)]
  await run(...up, "--steps", "300")
  const live = start([...up, "--steps", "4000", "--seed", "2", "--fresh"])
  await live.says(/service at http/)
  await live.says(/[1-9]\d\d\/4000 steps/)

  const curves = sees("canvas")
  await picture("run", ui("/"), curves)
  await picture("run-dark", ui("/"), curves, dark)
  await picture("run-phone", ui("/"), curves, phone)
  await picture("comparison", ui("/?run=sort-letters-2&with=sort-letters-1&smooth=0.6"), sees(".data-table"))
  await picture("service", ui("/service?run=sort-letters-2"), sees("table >> nth=2"))
  live.child.kill("SIGINT")
  await live.ended
}

/** Data sent to a service, without training. */
const sent = async (port: number, url: string, ui: (address: string) => string): Promise<void> => {
  const still = start(["api", "--port", String(port)])
  await still.says(/http:\S+/)
  const chats = await Conversations.send(url)
  await Effect.runPromise(BrokenRun.fill(url))
  await picture("health", ui(`/?run=${BrokenRun.name}`), sees(".finding"))
  await picture("groups", ui(`/groups?run=${chats.run}`), sees(".row-link"))
  await picture(
    "groups-filtered",
    ui(`/groups?run=${chats.run}&newest_run=true&step_from=44&step_to=52&text=litres&score_to=0.5`),
    sees(".row-link")
  )
  await picture("group", ui(`/groups/${chats.run}/${chats.mathematics}`), async (page) => {
    await sees(".rollout")(page)
    await page.keyboard.press("o")
  })
  await picture("group-code-dark", ui(`/groups/${chats.run}/${chats.code}`), sees(".hljs-keyword"), dark)
  await picture("group-tools", ui(`/groups/${chats.run}/${chats.tools}`), sees(".tool"))
  await picture("group-phone", ui(`/groups/${chats.run}/${chats.mathematics}`), sees(".rollout"), phone)
  const tokens = ui(`/groups/${chats.run}/${chats.mathematics}?view=tokens&rollout=0&token=60`)
  await picture("tokens", tokens, sees(".token"))
  await picture("tokens-trainer", tokens, async (page) => {
    await sees(".token")(page)
    await page.getByLabel("Colour").selectOption("trainer")
    await page.keyboard.press("x")
  })
  await picture("compare", ui(`/groups/${chats.run}/${chats.mathematics}?view=compare`), sees(".compare"))
  const litres = await PictureRuns.sendHacked(url)
  await picture("hacking", ui(`/hacking?run=${litres}`), async (page) => {
    await sees(".finding")(page)
    await page.getByText(/is in \d+% of the answers above their group mean/).waitFor()
  })
  const calm = await PictureRuns.sendCalm(url, BrokenRun.steps)
  await picture("facets", ui(`/?run=${BrokenRun.name}&with=${calm}`), async (page) => {
    // Charts are drawn only when visible.
    const facets = page.locator(".facets").first()
    await facets.waitFor({ state: "attached" })
    await facets.evaluate((element) => element.scrollIntoView({ block: "start" }))
    await sees(".facets canvas")(page)
  })
  await picture("settings", ui("/?run=sort-letters-2&with=sort-letters-1"), async (page) => {
    await page.locator("details.settings summary").click()
    await sees("details.settings .data-table")(page)
    await page.locator("details.settings").evaluate((element) => element.scrollIntoView({ block: "center" }))
  })
  await picture("timeline", ui("/?run=sort-letters-1"), async (page) => {
    await page.getByText("Where does the step time go?").click()
    await sees(".step-timeline svg")(page)
    await page.locator(".step-timeline").evaluate((element) => element.scrollIntoView({ block: "start" }))
  })
  await picture("delete", ui("/?run=sort-letters-1"), async (page) => {
    await page.getByRole("button", { name: "Delete run…" }).click()
    await page.getByRole("dialog").waitFor()
  })
  await note(url, chats.run, chats.mathematics, 0, ["right"], "Takes the shortest way; a good example for the report.")
  await note(url, chats.run, chats.mathematics, 3, ["truncated"], "Ran out of tokens before the answer.")
  await note(url, chats.run, chats.code, 1, ["hack?"], "Prints the expected output instead of computing it?")
  await picture("notes", ui(`/notes?run=${chats.run}`), sees(".note-words"))
  await picture("evaluations", ui("/evaluations?of=all"), sees(".data-table"))
  // Before and after the training: the first two evaluations of the service.
  await picture("evaluation", ui("/evaluations/1?with=2&show=fixed"), async (page) => {
    await sees(".item-row")(page)
    await page.keyboard.press("j")
    await sees(".sample-facts")(page)
  })
  still.child.kill("SIGINT")
  await still.ended
}

/** Pictures of files, without a service. */
const filed = async (): Promise<void> => {
  const saved = join(folder, "scenes.jsonl")
  await run(
    "process",
    "--env",
    "scenes",
    "--testing",
    "--env.total_steps",
    "12",
    "--env.data_path_to_save_groups",
    saved
  )
  writeFileSync(saved, SceneAnswers.written(readFileSync(saved, "utf8")))
  const [scored, again] = ["scored.jsonl", "again.html"].map((name) => join(folder, name)) as [string, string]
  await run("reverify", saved, "--env", "scenes", "--write", scored, "--page", again)
  await picture("reverified", `${pathToFileURL(again).href}#/reverified`, sees(".data-table"))
  const page = join(folder, "scored.html")
  await run("view", scored, "--out", page)
  await picture("saved-page", pathToFileURL(page).href, sees(".row-link"))
  await picture("pictures", `${pathToFileURL(page).href}#/groups/scored/1`, sees(".picture img"))

  const judged = join(folder, "judged.jsonl")
  writeFileSync(judged, JudgedGroups.lines())
  const viewing = start(["view", judged, "--port", "0"])
  await viewing.says(/http:\S+/)
  const [viewer = ""] = /http:[^\s#]+/.exec(viewing.said()) ?? []
  await picture("rationale", `${viewer}#/groups/judged/1`, sees(".rollout .message"))
  await picture("times", `${viewer}#/groups/judged/1?view=times&rollout=1`, sees(".waterfall-table"))
  viewing.child.kill("SIGINT")
  await viewing.ended
}

try {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const ui = (address: string) => `${url}/ui#${address}`
  if (wants(...ofTraining)) await trained(port, ui)
  if (wanted.length === 0 || !wanted.every((name) => ofFiles.includes(name))) await sent(port, url, ui)
  if (wants(...ofFiles)) await filed()
} finally {
  await browser.close()
  // Cleans up after a failure.
  for (const child of running) child.kill("SIGKILL")
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
}
