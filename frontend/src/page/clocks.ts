// Corrections of the clocks of hosts as text in the address.

/** The clocks of hosts as the trace viewer takes them: `HOST:PS` joined by commas; "" if none differs. */
export function clocksText(offsets: Readonly<Record<string, number>>): string {
  return Object.entries(offsets)
    .filter(([, ps]) => ps !== 0)
    .map(([host, ps]) => `${host}:${ps}`)
    .join(",");
}
