/**
 * The programs of the presets, if they are installed: in PATH, or below `ATROPOS_TEST_AGENTS`, a folder with an npm
 * project of each (`npm install` in `pi`, `opencode`, …).
 */
import { spawnSync } from "node:child_process"
import { existsSync, globSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import type { CodingAgent } from "../../../src/coding/CodingAgent.ts"

const folder = process.env["ATROPOS_TEST_AGENTS"]

/** The path of an agent's program; undefined if it is not installed. */
export const pathOf = ({ program }: Pick<CodingAgent, "program">): string | undefined => {
  const inFolder = folder === undefined ? [] : globSync(join(folder, "*/node_modules/.bin", program))
  const inPath = (process.env["PATH"] ?? "").split(delimiter).map((one) => join(one, program))
  return [...inFolder, ...inPath].find((file) => existsSync(file))
}

export interface Installed {
  readonly path: string
  readonly version: string
}

export const installed = (agent: Pick<CodingAgent, "program">): Installed | undefined => {
  const path = pathOf(agent)
  if (path === undefined) return undefined
  // Some write into their home even then.
  const home = mkdtempSync(join(tmpdir(), "atropos-home-"))
  const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8", env: { ...process.env, HOME: home } })
  rmSync(home, { recursive: true, force: true })
  return { path, version: /\d+\.\d+\.\d+/.exec(stdout)?.[0] ?? "unknown" }
}
