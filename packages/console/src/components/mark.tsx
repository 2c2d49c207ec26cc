/** The mark: a harbour wall, and the lamp at its mouth. */
export function Mark({ size = 22 }: { size?: number }) {
  return (
    <svg className="mark" width={size} height={size} viewBox="0 0 24 24" aria-hidden="true">
      <path d="M17.6 6.4a8 8 0 1 0 0 11.2" fill="none" stroke="currentColor" strokeWidth="3.6" />
      <rect className="lamp" x="15" y="9.6" width="4.8" height="4.8" rx="1" />
    </svg>
  );
}
