/**
 * Debian's chromium (`CHROMIUM_PATH` names another one), without what it would ask of the network by itself.
 *
 * The headless shell is preferred: the same engine without the window of a browser, for a third of the processor time.
 */
import { existsSync } from "node:fs"
import { type Browser, chromium } from "playwright-core"

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

export const launch = (): Promise<Browser> => chromium.launch({ executablePath, args: quiet, timeout: 300_000 })

export type { BrowserContextOptions, Page } from "playwright-core"
