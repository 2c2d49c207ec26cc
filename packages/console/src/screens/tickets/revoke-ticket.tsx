import type { Ticket } from '@cadiz/client';
import { clientOf } from '../../api.ts';
import { FormDialog } from '../../components/form-dialog.tsx';
import { toast } from '../../components/toast.tsx';
import { queryClient } from '../../queries.ts';
import { text } from '../../text/text.ts';

interface RevokeTicketProps {
  projectId: string;
  ticket: Ticket;
  onClose: () => void;
}

/** Asks before a ticket stops working. */
export function RevokeTicket({ projectId, ticket, onClose }: RevokeTicketProps) {
  const { tickets } = text;
  return (
    <FormDialog
      isDanger
      title={tickets.revokeTitle}
      lead={tickets.revokeLead}
      submit={tickets.revoke}
      onClose={onClose}
      send={async (_, close) => {
        await clientOf(projectId).tickets.revoke(ticket.id);
        await queryClient.invalidateQueries({ queryKey: ['tickets', projectId] });
        close();
        void toast(tickets.revoked);
      }}
    />
  );
}
