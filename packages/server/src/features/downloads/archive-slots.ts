/** How many archives are made at once: their bytes go through the service, which must have time for others. */
export interface ArchiveSlots {
  /** Gives back what must be called at the end, once or more; undefined when there is no room. */
  take(projectId: string): (() => void) | undefined;
}

/** @param atOnce for all projects together; one project may have half of them, so that it cannot keep others out */
export function createArchiveSlots(atOnce: number): ArchiveSlots {
  const byProject = new Map<string, number>();
  let taken = 0;
  return {
    take(projectId) {
      const ofProject = byProject.get(projectId) ?? 0;
      if (taken >= atOnce || ofProject >= Math.ceil(atOnce / 2)) return undefined;
      taken += 1;
      byProject.set(projectId, ofProject + 1);
      let given = false;
      return () => {
        if (given) return;
        given = true;
        taken -= 1;
        const left = (byProject.get(projectId) ?? 1) - 1;
        if (left === 0) byProject.delete(projectId);
        else byProject.set(projectId, left);
      };
    },
  };
}
