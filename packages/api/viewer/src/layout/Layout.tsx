/** Wraps every page: header, landmarks, help, the token prompt. */
import { type ReactNode, useState } from "react"
import { useLocation } from "wouter"
import { useSession } from "../state/SourceContext.tsx"
import { ErrorBoundary } from "./ErrorBoundary.tsx"
import { Header } from "./Header.tsx"
import { Help } from "./Help.tsx"
import { Outage } from "./Outage.tsx"
import { RunGate } from "./RunGate.tsx"
import { ShortcutProvider, useShortcuts } from "../ui/useShortcuts.tsx"
import { TokenPrompt } from "./TokenPrompt.tsx"

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
