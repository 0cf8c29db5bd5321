/** Debian's chromium (`CHROMIUM_PATH` names another one), without what it would ask of the network by itself. */
import { existsSync } from "node:fs"
import { type Browser, chromium } from "playwright-core"

export const executablePath = process.env["CHROMIUM_PATH"] ?? "/usr/bin/chromium"

/** Whether there is a browser. */
export const isPresent = existsSync(executablePath)

const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync"
]

export const launch = (): Promise<Browser> => chromium.launch({ executablePath, args: quiet })

export type { BrowserContextOptions, Page } from "playwright-core"
