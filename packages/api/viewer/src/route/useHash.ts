/**
 * Provides the part of the page's address after `#` as wouter's location (`useHashLocation`) and as its parameters
 * (`useSearch`).
 */
import { useMemo, useSyncExternalStore } from "react"
import { useLocation } from "wouter"
import { parse } from "./Location.ts"

const subscribe = (onChange: () => void): (() => void) => {
  window.addEventListener("hashchange", onChange)
  window.addEventListener("popstate", onChange)
  return () => {
    window.removeEventListener("hashchange", onChange)
    window.removeEventListener("popstate", onChange)
  }
}

const useHash = () => useSyncExternalStore(subscribe, () => window.location.hash)

/** Navigates to an address of the viewer; `replace` adds no entry to the browser's history. */
export const navigate = (to: string, { replace = false }: { readonly replace?: boolean } = {}): void => {
  const hash = `#${to}`
  if (hash === window.location.hash) return
  if (replace) window.history.replaceState(null, "", hash)
  else window.history.pushState(null, "", hash)
  window.dispatchEvent(new HashChangeEvent("hashchange"))
}

export const useHashLocation = (): [string, typeof navigate] => [parse(useHash()).path, navigate]

useHashLocation.hrefs = (href: string) => `#${href}`

export const useSearch = (): URLSearchParams => {
  const { search } = parse(useHash())
  return useMemo(() => new URLSearchParams(search), [search])
}

/** Changes some parameters of the current address and keeps the others; null removes one. */
export const useSetSearch = () => {
  const [path] = useLocation()
  return (changes: { readonly [name: string]: string | number | null }, options?: { readonly replace?: boolean }) => {
    const search = new URLSearchParams(parse(window.location.hash).search)
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === "") search.delete(name)
      else search.set(name, String(value))
    }
    const text = search.toString()
    navigate(text === "" ? path : `${path}?${text}`, options)
  }
}
