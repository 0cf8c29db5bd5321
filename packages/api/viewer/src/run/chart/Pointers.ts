/** How fingers and clicks reach a chart: uPlot knows the mouse that moves alone. */

/** A finger that moves sideways moves the crosshair. */
export const followTouch = (over: HTMLElement): (() => void) => {
  const move = ({ clientX, clientY, pointerType }: PointerEvent) => {
    if (pointerType === "mouse") return
    over.dispatchEvent(new MouseEvent("mousemove", { clientX, clientY }))
  }
  const end = ({ pointerType }: PointerEvent) => {
    if (pointerType !== "mouse") over.dispatchEvent(new MouseEvent("mouseleave"))
  }
  over.addEventListener("pointermove", move)
  over.addEventListener("pointercancel", end)
  return () => {
    over.removeEventListener("pointermove", move)
    over.removeEventListener("pointercancel", end)
  }
}

/** Pixels that a mouse may move in a click. */
const still = 5

/** Clicks of a mouse that did not drag; a finger reads values, and has the legend's way on. */
export const followClicks = (over: HTMLElement, onClick: (left: number, top: number) => void): (() => void) => {
  let began: { readonly x: number; readonly y: number } | null = null
  const down = ({ button, clientX, clientY, pointerType }: PointerEvent) => {
    began = pointerType === "mouse" && button === 0 ? { x: clientX, y: clientY } : null
  }
  const up = ({ clientX, clientY }: PointerEvent) => {
    if (began === null || Math.hypot(clientX - began.x, clientY - began.y) > still) return
    const { left, top } = over.getBoundingClientRect()
    onClick(clientX - left, clientY - top)
  }
  over.addEventListener("pointerdown", down)
  over.addEventListener("pointerup", up)
  return () => {
    over.removeEventListener("pointerdown", down)
    over.removeEventListener("pointerup", up)
  }
}
