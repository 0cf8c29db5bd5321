/** Wraps every page: header, landmarks, help, the token prompt. */
import { type FormEvent, type ReactNode, useState } from "react"
import { useLocation } from "wouter"
import { useSession, useSource } from "../state/SourceContext.tsx"
import { ErrorBoundary } from "./ErrorBoundary.tsx"
import { Header } from "./Header.tsx"
import { RunGate } from "./RunGate.tsx"
import { ShortcutProvider, useListedShortcuts, useShortcuts } from "../ui/useShortcuts.tsx"
import { useIsAway } from "../state/useReach.ts"
import { useIsDone, useRuns } from "../state/useRun.tsx"
import * as Token from "../source/Token.ts"
import { Modal } from "../ui/Modal.tsx"

/** Lists the active keyboard shortcuts of the current page, and the licences of bundled software. */
const names: { readonly [key: string]: string } = {
  ArrowUp: "↑",
  ArrowDown: "↓",
  ArrowLeft: "←",
  ArrowRight: "→",
  Escape: "Esc",
  " ": "Space"
}

const byPlace = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  Number(a === "Everywhere") - Number(b === "Everywhere")

/** Included in every built page; missing only in development. */
const licences = (): string => document.querySelector("#atropos-licences")?.textContent ?? ""

const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Modal title="Keyboard" className="help" isAsking={false} onClose={onClose}>
    {[...Map.groupBy(useListedShortcuts(), ({ scope }) => scope)].toSorted(byPlace).map(([scope, listed]) => (
      <section key={scope}>
        <h3>{scope}</h3>
        <dl>
          {listed
            .flatMap(({ entries }) => entries)
            .map(({ keys, label }) => (
              <div key={label} style={{ display: "contents" }}>
                <dt>
                  {keys.map((key) => (
                    <kbd key={key}>{names[key] ?? key}</kbd>
                  ))}
                </dt>
                <dd>{label}</dd>
              </div>
            ))}
        </dl>
      </section>
    ))}
    <details>
      <summary>Licences of bundled libraries</summary>
      <pre tabIndex={0}>{licences()}</pre>
    </details>
  </Modal>
)

/** Asks for the service's token once, whichever request was refused. */
const TokenPrompt = () => {
  const { dismissToken, submitToken } = useSession()
  const [value, setValue] = useState("")
  const wasRefused = Token.read() !== null
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (value.trim() !== "") submitToken(value.trim())
  }
  return (
    <Modal title="Token required" onClose={dismissToken}>
      <form className="dialog-form" onSubmit={submit}>
        <p className="muted">
          {wasRefused ? "The service rejected the token. " : ""}The role “reader” suffices. The token is kept until this
          tab is closed.
        </p>
        <label className="dialog-form">
          Token
          <input
            type="password"
            name="token"
            autoComplete="current-password"
            spellCheck={false}
            value={value}
            onChange={(event) => setValue(event.target.value)}
          />
        </label>
        <div>
          <button type="submit" className="primary" disabled={value.trim() === ""}>
            Continue
          </button>
        </div>
      </form>
    </Modal>
  )
}

/** Shows a banner while the service does not answer and the data is the last received. */
const Outage = () => {
  const { reach } = useSource()
  const { run } = useRuns()
  const isDone = useIsDone()
  if (!useIsAway()) return null
  return (
    <div className={isDone ? "outage is-done" : "outage"} role="status">
      <span>
        {isDone
          ? `“${run}” is done and its service has stopped. Showing the last data.`
          : "Lost connection to the service. Showing the last data; retrying…"}
      </span>
      <button type="button" className="small" onClick={reach.ask}>
        Retry now
      </button>
    </div>
  )
}

export const Layout = ({ children }: { readonly children: ReactNode }) => (
  <ShortcutProvider>
    <Frame>{children}</Frame>
  </ShortcutProvider>
)

const Frame = ({ children }: { readonly children: ReactNode }) => {
  const [helps, setHelps] = useState(false)
  const { needsToken } = useSession()
  const [path] = useLocation()
  useShortcuts("Everywhere", [{ keys: ["?"], label: "this help", run: () => setHelps(true) }])
  return (
    <div className="layout">
      <button type="button" className="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <Header onHelp={() => setHelps(true)} />
      <Outage />
      <main className="main" id="main" tabIndex={-1}>
        <ErrorBoundary key={path}>
          <RunGate>{children}</RunGate>
        </ErrorBoundary>
      </main>
      {helps && <Help onClose={() => setHelps(false)} />}
      {needsToken && <TokenPrompt />}
    </div>
  )
}
