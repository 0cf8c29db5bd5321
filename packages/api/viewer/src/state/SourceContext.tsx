/**
 * Provides the source to all pages, and handles token prompts: a request that gets `unauthorized` reports it here, one
 * prompt is shown, and a new token makes every page reload (`useSession().epoch`).
 */
import { createContext, type ReactNode, useCallback, useContext, useMemo, useState } from "react"
import type { Source } from "../source/Source.ts"
import * as Token from "../source/Token.ts"

interface Session {
  /** Number of tokens entered: data loaded with an older one is reloaded. */
  readonly epoch: number
  readonly needsToken: boolean
  readonly reportUnauthorized: () => void
  readonly submitToken: (token: string) => void
  readonly dismissToken: () => void
}

const SourceContext = createContext<Source | null>(null)
const SessionContext = createContext<Session | null>(null)

export const SourceProvider = ({ children, source }: { readonly children: ReactNode; readonly source: Source }) => {
  const [epoch, setEpoch] = useState(0)
  const [needsToken, setNeedsToken] = useState(false)
  const reportUnauthorized = useCallback(() => setNeedsToken(true), [])
  const submitToken = useCallback((value: string) => {
    Token.write(value)
    setNeedsToken(false)
    setEpoch((epoch) => epoch + 1)
  }, [])
  const dismissToken = useCallback(() => setNeedsToken(false), [])
  const session = useMemo(
    () => ({ epoch, needsToken, reportUnauthorized, submitToken, dismissToken }),
    [epoch, needsToken, reportUnauthorized, submitToken, dismissToken]
  )
  return (
    <SourceContext.Provider value={source}>
      <SessionContext.Provider value={session}>{children}</SessionContext.Provider>
    </SourceContext.Provider>
  )
}

export const useSource = (): Source => provided(useContext(SourceContext))

export const useSession = (): Session => provided(useContext(SessionContext))

const provided = <A,>(value: A | null): A => {
  if (value === null) throw new Error("useSource needs a SourceProvider")
  return value
}
