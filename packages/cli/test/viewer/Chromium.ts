/**
 * Debian's chromium (`CHROMIUM_PATH` names another one), without what it would ask of the network by itself.
 *
 * The headless shell is preferred: the same engine without the window of a browser, for a third of the processor time.
 */
import { existsSync } from "node:fs"
import { type Browser, chromium, type Logger } from "playwright-core"
import * as Waits from "../../../core/test/base/Waits.ts"

const installed = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"]
export const executablePath =
  process.env["CHROMIUM_PATH"] ?? installed.find((path) => existsSync(path)) ?? "/usr/bin/chromium"

/** Whether there is a browser. */
export const isPresent = existsSync(executablePath)

/**
 * What is left out. The last list given counts, so it begins with playwright's own. The address bar's pages, which a
 * headless window prepares too, take more processor time than most of the pages that are looked at.
 */
const withoutFeatures = [
  "AimEnabled",
  "AvoidCorsURLLoaderRestartOnRedirect",
  "AvoidUnnecessaryBeforeUnloadCheckSync",
  "DestroyProfileOnBrowserClose",
  "HttpsFirstBalancedModeAutoEnable",
  "HttpsUpgrades",
  "LensOverlay",
  "MediaRouter",
  "NetworkTimeServiceQuerying",
  "OptimizationHints",
  "PaintHolding",
  "PreconnectToSearch",
  "ThirdPartyStoragePartitioning",
  "WebUIOmniboxAimPopup",
  "WebUIOmniboxPopup"
]

const quiet = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  `--disable-features=${withoutFeatures.join()}`
]

/** Names each call of playwright's that is under way, with the line of the test that it stands on. */
const logger = (): Logger => {
  const ends = new Map<string, () => void>()
  return {
    isEnabled: (name) => name === "api",
    log: (_name, _severity, message) => {
      const [, call, state] = /^[=<][>=] (\S+) (started|succeeded|failed)/.exec(String(message)) ?? []
      if (call === undefined) return
      ends.get(call)?.()
      if (state !== "started") return
      const lines = new Error().stack?.split("\n").filter((line) => !line.includes("node_modules")) ?? []
      ends.set(call, Waits.begin({ what: `${call}, ${lines[2]?.trim() ?? "called from elsewhere"}` }))
    }
  }
}

export const launch = (): Promise<Browser> =>
  chromium.launch({ executablePath, args: quiet, timeout: 0, logger: logger() })

export type { BrowserContextOptions, Page } from "playwright-core"
