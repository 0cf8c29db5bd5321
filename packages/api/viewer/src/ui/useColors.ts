/**
 * Resolves colours of `styles/tokens.css` for a canvas by name (`accent`, `series-1`); updated when the theme changes.
 *
 *     const { border, muted } = useColors("border", "muted")
 */
import { useSyncExternalStore } from "react"

const subscribe = (onChange: () => void): (() => void) => {
  const dark = window.matchMedia("(prefers-color-scheme: dark)")
  const observer = new MutationObserver(onChange)
  observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] })
  dark.addEventListener("change", onChange)
  return () => {
    observer.disconnect()
    dark.removeEventListener("change", onChange)
  }
}

/** `light-dark()` is only resolved on an element. */
const resolve = (names: ReadonlyArray<string>): string => {
  const probe = document.createElement("span")
  document.body.append(probe)
  const colors = names.map((name) => {
    probe.style.color = `var(--${name})`
    return getComputedStyle(probe).color
  })
  probe.remove()
  return colors.join("|")
}

export const useColors = <const Name extends string>(
  ...names: ReadonlyArray<Name>
): { readonly [N in Name]: string } => {
  const colors = useSyncExternalStore(subscribe, () => resolve(names)).split("|")
  // One colour per name, in order.
  return Object.fromEntries(names.map((name, index) => [name, colors[index]])) as { readonly [N in Name]: string }
}
