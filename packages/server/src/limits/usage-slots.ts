/** Concurrent recordings mostly hit different slots and seldom wait for each other. */
export const usageSlots = 16;
