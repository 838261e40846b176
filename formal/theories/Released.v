(* More theorems for integers: counts, signs and moments. *)
From Coq Require Import ZArith.
From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import ring zify ssrZ.
From Graphveil Require Formulas Moments Columns Weights Rounding.
From Graphveil Require Import Vectors Definitions Integers.
Import Order.Theory GRing.Theory Num.Theory.
Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.
Local Open Scope ring_scope.
Delimit Scope Z_scope with z. (* %Z means int, in mathcomp *)

(* ------------------------------------------------------------------ counts and signs *)
Section Counts.
Variables J I : finType.

Let countE (cell : cells J I) : count cell =1 (Columns.counts _ cell : _ -> Z).
Proof. by move=> ji; rewrite /count /Columns.counts; case: (_ == _). Qed.

Lemma counts_apart : apart (@count J I) (@anything _) (2%:R * Z.of_nat #|J|).
Proof.
move=> x y _ _; rewrite /distance; under eq_bigr do rewrite !countE.
by rewrite -natZ; apply: (@Columns.counts_apart).
Qed.

Lemma counts_alone : alone (@count J I) (@anything _) (Z.of_nat #|J|).
Proof.
move=> x _; rewrite /square; under eq_bigr do rewrite !countE.
by rewrite -natZ; apply: (@Columns.counts_alone).
Qed.
End Counts.

Section Signs.
Variable n : nat.

Let pairE (u : 'I_n -> bool) : sign_pair u =1 (Columns.pairs _ (fun i => ~~ u i) : _ -> Z).
Proof. by move=> [i j]; rewrite /sign_pair /Columns.pairs /sign /Columns.sign /=; do 2!case: (u _). Qed.

Let quarter : ((n ^ 2) %/ 4)%N%:R = (Z.of_nat n ^ 2 / 4)%z :> Z.
Proof.
rewrite natZ; apply: (Z.div_unique _ _ _ (Z.of_nat ((n ^ 2) %% 4)%N)); first by left; have := ltn_pmod (n ^ 2) (isT : 0 < 4)%N; lia.
have := divn_eq (n ^ 2) 4; rewrite -mulnn Z.pow_2_r; lia.
Qed.

Lemma signs_apart : apart (@sign_pair n) (@anything _) (4 * (Z.of_nat n ^ 2 / 4))%z.
Proof.
move=> x y _ _; rewrite /distance; under eq_bigr do rewrite !pairE.
by rewrite -quarter; apply: le_trans (Columns.pairs_apart _ _ _) _; rewrite [4%:R]natZ; exact: lexx.
Qed.

Lemma signs_alone : alone (@sign_pair n) (@anything _) (4 * (Z.of_nat n ^ 2 / 4))%z.
Proof.
move=> x _; rewrite /square; under eq_bigr do rewrite !pairE.
by rewrite -quarter; apply: le_trans (Columns.pairs_alone _ _) _; rewrite [4%:R]natZ; exact: lexx.
Qed.
End Signs.

(* ------------------------------------------------------------------ moments *)
Section LiftedCells.
Variables (columns levels : nat) (numbers : finType).
Let blocks := [finType of 'I_columns * 'I_levels].
Let cells_count := @count blocks numbers.

Let blocksE : Z.of_nat #|blocks| = (Z.of_nat columns * Z.of_nat levels)%z.
Proof. by rewrite card_prod !card_ord; lia. Qed.

Let cell_squareE : Formulas.cell_square (Z.of_nat columns) (Z.of_nat levels) 1%R = 2%:R * Z.of_nat #|blocks|.
Proof. by rewrite blocksE /Formulas.cell_square powE expr1n Z.mul_1_r natZ -Z.mul_assoc. Qed.

Let added_cell_squareE : Formulas.added_cell_square (Z.of_nat columns) (Z.of_nat levels) 1%R = Z.of_nat #|blocks|.
Proof. by rewrite blocksE /Formulas.added_cell_square powE expr1n Z.mul_1_r. Qed.

Let positive : 0 <= Z.of_nat #|blocks|.
Proof. lia. Qed.

Lemma cells_rows_replaced :
  rows_replaced cells_count (@anything _) (Formulas.cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof.
apply: lift_rows_replaced; rewrite ?cell_squareE ?mulr_ge0 ?ler0n //; last exact: counts_apart.
by move=> m; rewrite blocksE /Formulas.cell_square powE natZ [LHS]Z.mul_comm -Z.mul_assoc.
Qed.

Lemma cells_person_replaced :
  person_replaced cells_count (@anything _) (Formulas.cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof.
apply: lift_person_replaced; rewrite ?cell_squareE ?mulr_ge0 ?ler0n //; first exact: counts_apart.
by move=> x _; apply: le_trans (counts_alone I) _; rewrite natZ; lia.
Qed.

Lemma cells_rows_added :
  rows_added cells_count (@anything _) (Formulas.added_cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof.
apply: lift_rows_added; rewrite ?added_cell_squareE //; last exact: counts_alone.
by move=> m; rewrite blocksE /Formulas.added_cell_square powE [LHS]Z.mul_comm.
Qed.

Lemma cells_person_added :
  person_added cells_count (@anything _) (Formulas.added_cell_square (Z.of_nat columns) (Z.of_nat levels)).
Proof. by apply: lift_person_added; rewrite added_cell_squareE //; apply: counts_alone. Qed.

End LiftedCells.

Section Histogram.
Variable bins : finType.
Let histogram := @count [finType of unit] bins.

Let histogram_apart : apart histogram (@anything _) (Formulas.histogram_square 1).
Proof. by have := @counts_apart [finType of unit] bins; rewrite card_unit [2%:R]natZ. Qed.

Let histogram_alone : alone histogram (@anything _) (Formulas.added_count_square 1).
Proof. by have := @counts_alone [finType of unit] bins; rewrite card_unit. Qed.

Let histogram_alone_too : alone histogram (@anything _) (Formulas.histogram_square 1).
Proof. by move=> x vx; apply: le_trans (histogram_alone vx) _. Qed.

Lemma histogram_rows_replaced : rows_replaced histogram (@anything _) Formulas.histogram_square.
Proof. by apply: lift_rows_replaced => // m; rewrite /Formulas.histogram_square powE; lia. Qed.

Lemma histogram_person_replaced : person_replaced histogram (@anything _) Formulas.histogram_square.
Proof. exact: lift_person_replaced. Qed.

Lemma histogram_rows_added : rows_added histogram (@anything _) Formulas.added_count_square.
Proof. by apply: lift_rows_added => // m; rewrite /Formulas.added_count_square powE; lia. Qed.

Lemma histogram_person_added : person_added histogram (@anything _) Formulas.added_count_square.
Proof. exact: lift_person_added. Qed.

End Histogram.

Section LiftedSigns.
Variable columns : nat.

Let sign_squareE : Formulas.sign_square (Z.of_nat columns) 1%R = (4 * (Z.of_nat columns.+1 ^ 2 / 4))%z.
Proof. by rewrite /Formulas.sign_square (_ : Z.of_nat columns.+1 = (Z.of_nat columns + 1)%z); lia. Qed.

Let sign_square_ge0 : 0 <= Formulas.sign_square (Z.of_nat columns) 1.
Proof. by rewrite sign_squareE; have := @signs_alone columns.+1 (fun=> true) I; apply: le_trans; apply: sumr_ge0 => i _; apply: sqr_ge0. Qed.

Lemma signs_rows_replaced : rows_replaced (@sign_pair columns.+1) (@anything _) (Formulas.sign_square (Z.of_nat columns)).
Proof.
apply: lift_rows_replaced => // [m|]; last by rewrite sign_squareE; apply: signs_apart.
by rewrite /Formulas.sign_square powE; lia.
Qed.

Lemma signs_person_replaced :
  person_replaced (@sign_pair columns.+1) (@anything _) (Formulas.sign_square (Z.of_nat columns)).
Proof. by apply: lift_person_replaced => //; rewrite sign_squareE; [apply: signs_apart | apply: signs_alone]. Qed.
End LiftedSigns.

Section Moments.
Variable p : nat.

(* A symmetric matrix: the diagonal, and what is above it twice. *)
Lemma upper_triangle (F : 'I_p -> 'I_p -> Z) : (forall i j, F i j = F j i) ->
  \sum_i \sum_j F i j = \sum_i F i i + 2%:R * (\sum_(i < p) \sum_(j < p | (i < j)%N) F i j).
Proof.
move=> Fs; have lower : \sum_(i < p) \sum_(j < p | (j < i)%N) F i j = \sum_(i < p) \sum_(j < p | (i < j)%N) F i j.
  rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => i _.
  by apply: eq_bigr => j _; apply: Fs.
have -> : 2%:R * (\sum_(i < p) \sum_(j < p | (i < j)%N) F i j)
        = \sum_(i < p) \sum_(j < p | (j < i)%N) F i j + \sum_(i < p) \sum_(j < p | (i < j)%N) F i j.
  by rewrite lower; ring.
rewrite addrA -2!big_split; apply: eq_bigr => i _ /=.
rewrite (bigD1 i) //= (bigID (fun j : 'I_p => (j < i)%N)) /= addrA.
by congr (_ + _ + _); apply: eq_bigl => j; rewrite -(inj_eq val_inj) /=; case: ltngtP.
Qed.

Section Core.
Variables (S T : finType) (x : S -> appended p) (y : T -> appended p) (P C : Z).

Let triangle (D : 'I_p -> 'I_p -> Z) d : (forall i j, D i j = D j i) ->
  without_trace D d = Moments.frobenius D d.
Proof. by move=> Ds; rewrite /Moments.frobenius upper_triangle // => i j; rewrite Ds. Qed.

Let symmetric (U : finType) (z : U -> appended p) i j : moment z i j = moment z j i.
Proof. by apply: eq_bigr => t _; rewrite mulrC. Qed.

Lemma moments_replaced :
  \sum_s square (x s).1 <= P -> \sum_t square (y t).1 <= P -> \sum_s (x s).2 ^+ 2 <= C -> \sum_t (y t).2 ^+ 2 <= C ->
  with_trace (fun i j => moment x i j - moment y i j) (fun i => cross x i - cross y i) <= 2%:R * (P + C) ^+ 2.
Proof.
move=> xP yP xC yC; rewrite /with_trace triangle; last by move=> i j; rewrite ![_ i j]symmetric.
exact: (@Moments.replaced _ _ _ _ (fun s => (x s).1) (fun s => (x s).2) (fun t => (y t).1) (fun t => (y t).2)).
Qed.

Lemma moments_added : \sum_s square (x s).1 + \sum_s (x s).2 ^+ 2 <= P ->
  without_trace (moment x) (cross x) <= P ^+ 2.
Proof. by move=> xP; rewrite triangle //; apply: (@Moments.added _ _ _ (fun s => (x s).1) (fun s => (x s).2)). Qed.
End Core.

Let ext D D' d d' : (forall i j, D i j = D' i j) -> (forall i, d i = d' i) ->
  @without_trace p D d = without_trace D' d' /\ @with_trace p D d = with_trace D' d'.
Proof.
move=> DD dd; have E : @without_trace p D d = without_trace D' d'.
  rewrite /without_trace; congr (_ + _ + _).
  - by apply: eq_bigr => i _; rewrite DD.
  - by congr (_ * _); apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite DD.
  - by congr (_ * _); apply: eq_bigr => i _; rewrite dd.
by split=> //; rewrite /with_trace E; congr (_ + _ ^+ 2); apply: eq_bigr => i _; rewrite DD.
Qed.

Section Bounds.
Variables row_square constant : Z.
Hypothesis row_square_ge0 : 0 <= row_square.

(* The rows of a set, and nothing in place of all others. *)
Let only n (B : {set 'I_n}) (x : 'I_n -> appended p) t : appended p := if t \in B then x t else (fun=> 0, 0).

Let sum_only n (B : {set 'I_n}) (x : 'I_n -> appended p) (F : appended p -> Z) : F (fun=> 0, 0) = 0 ->
  \sum_t F (only B x t) = \sum_(t in B) F (x t).
Proof. by move=> F0; rewrite [RHS]big_mkcond; apply: eq_bigr => t _; rewrite /only; case: (t \in B). Qed.

Let square0 : square (fun _ : 'I_p => 0 : Z) = 0.
Proof. by rewrite /square big1 // => i _; rewrite expr0n. Qed.

Let at_most n m (B : {set 'I_n}) (x : 'I_n -> appended p) : (#|B| <= m)%N ->
  (forall t, encoded row_square constant (x t)) ->
  \sum_t square (only B x t).1 <= Z.of_nat m * row_square /\ \sum_t (only B x t).2 ^+ 2 <= Z.of_nat m * constant ^+ 2.
Proof.
move=> Bm ex; have few (F : 'I_n -> Z) D : 0 <= D -> (forall t, F t <= D) -> \sum_(t in B) F t <= Z.of_nat m * D.
  move=> D0 FD; apply: (@le_trans _ _ (\sum_(t in B) D)); first exact: ler_sum.
  by rewrite sumr_const -[D *+ _]mulr_natl -natZ; apply: ler_wpmul2r => //; rewrite ler_nat.
rewrite (sum_only B x (F := fun z => square z.1)) ?(sum_only B x (F := fun z => z.2 ^+ 2)) ?expr0n ?square0 //.
by split; apply: few => [|t]; rewrite ?sqr_ge0 //; case: (ex t) => // _ ->.
Qed.

Lemma rows_moments_replaced :
  moments_rows_replaced p row_square constant (Formulas.moment_square (row_square + constant ^+ 2)).
Proof.
move=> n m B x y Bm ex ey xy; have [xP xC] := at_most Bm ex; have [yP yC] := at_most Bm ey.
have -> : Formulas.moment_square (row_square + constant ^+ 2) (Z.of_nat m)
        = 2%:R * (Z.of_nat m * row_square + Z.of_nat m * constant ^+ 2) ^+ 2.
  by rewrite /Formulas.moment_square powE [2%:R]natZ -mulrDr.
apply: le_trans (moments_replaced xP yP xC yC).
have same (F : appended p -> Z) : F (fun=> 0, 0) = 0 ->
    \sum_t F (x t) - \sum_t F (y t) = \sum_t F (only B x t) - \sum_t F (only B y t).
  move=> F0; rewrite -!sumrB; apply: eq_bigr => t _; rewrite /only.
  by case: (boolP (t \in B)) => // tB; rewrite xy // F0 !subrr.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj2 (ext _ _)) => [i j|i].
  by apply: (same (fun z => z.1 i * z.1 j)); rewrite mulr0.
by apply: (same (fun z => z.1 i * z.2)); rewrite mulr0.
Qed.

Lemma rows_moments_added :
  moments_rows_added p row_square constant (Formulas.added_moment_square (row_square + constant ^+ 2)).
Proof.
move=> n m B x Bm ex; have [xP xC] := at_most Bm ex.
have -> : Formulas.added_moment_square (row_square + constant ^+ 2) (Z.of_nat m)
        = (Z.of_nat m * row_square + Z.of_nat m * constant ^+ 2) ^+ 2.
  by rewrite /Formulas.added_moment_square powE -mulrDr.
apply: le_trans (moments_added (ler_add xP xC)).
have same (F : appended p -> Z) : F (fun=> 0, 0) = 0 ->
    \sum_t F (x t) - \sum_(t | t \notin B) F (x t) = \sum_t F (only B x t).
  by move=> F0; rewrite sum_only // (bigID (mem B)) /= addrK.
rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj1 (ext _ _)) => [i j|i].
  by apply: (same (fun z => z.1 i * z.1 j)); rewrite mulr0.
by apply: (same (fun z => z.1 i * z.2)); rewrite mulr0.
Qed.

Let fits (T : finType) (w : T -> Z) (x : T -> appended p) W : 0 < W -> weighs w W ->
  (forall t, shortened row_square constant W (w t) (x t)) ->
  \sum_t square (x t).1 <= row_square /\ \sum_t (x t).2 ^+ 2 <= constant ^+ 2.
Proof.
move=> W0 [w0 wW] xW.
have fit (F : T -> Z) D : 0 <= D -> (forall t, W * F t <= D * w t) -> \sum_t F t <= D.
  move=> D0 FD; rewrite -(ler_pmul2l W0) mulr_sumr; apply: (@le_trans _ _ (\sum_t D * w t)); first exact: ler_sum.
  by rewrite -mulr_sumr mulrC; apply: ler_wpmul2r.
by split; apply: fit => [|t]; rewrite ?sqr_ge0 //; case: (xW t).
Qed.

Lemma person_moments_replaced :
    moments_person_replaced p row_square constant (Formulas.moment_square (row_square + constant ^+ 2)).
Proof.
move=> S T v w x y W rest rest' W0 vW wW xv yw; have [xP xC] := fits W0 vW xv; have [yP yC] := fits W0 wW yw.
have -> : Formulas.moment_square (row_square + constant ^+ 2) 1 = 2%:R * (row_square + constant ^+ 2) ^+ 2.
  by rewrite /Formulas.moment_square powE [2%:R]natZ Z.mul_1_l.
apply: le_trans (moments_replaced xP yP xC yC).
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj2 (ext _ _)) => *; rewrite opprD addrACA subrr add0r.
Qed.

Lemma person_moments_added :
    moments_person_added p row_square constant (Formulas.added_moment_square (row_square + constant ^+ 2)).
Proof.
move=> T w x W rest rest' W0 wW xw; have [xP xC] := fits W0 wW xw.
have -> : Formulas.added_moment_square (row_square + constant ^+ 2) 1 = (row_square + constant ^+ 2) ^+ 2.
  by rewrite /Formulas.added_moment_square powE Z.mul_1_l.
apply: le_trans (moments_added (ler_add xP xC)).
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: (proj1 (ext _ _)) => *; rewrite addrAC subrr add0r.
Qed.
End Bounds.
End Moments.

(* ------------------------------------------------------------------ attained *)
Lemma attained (B : Z) :
  Moments.frobenius (fun i j => Moments.products (Moments.axis B ord0) i j - Moments.products (Moments.axis B ord_max) i j)
    (fun=> 0) = 2%:R * (B ^+ 2) ^+ 2.
Proof.
rewrite -(Moments.frobenius_attained B); congr (_ + _ * _); apply: eq_bigr => i _.
by rewrite /Moments.crosses /Moments.nothing !big1 ?subrr // => t _; rewrite mulr0.
Qed.

Lemma trace_costs (B : Z) :
  Moments.with_trace (Moments.products (Moments.axis B ord0)) (fun=> 0) = 2%:R * (B ^+ 2) ^+ 2.
Proof.
rewrite -(Moments.trace_costs B); congr (_ + _ * _ + _); apply: eq_bigr => i _.
by rewrite /Moments.crosses /Moments.nothing big1 // => t _; rewrite mulr0.
Qed.

(* ------------------------------------------------------------------ merged people *)
Lemma merged_people_replaced (A : Type) (I : finType) (f : A -> I -> Z) valid bound :
  person_replaced f valid bound ->
  forall (S S' T T' : finType) (v : S -> Z) (v' : S' -> Z) (w : T -> Z) (w' : T' -> Z)
    (x : S -> A) (x' : S' -> A) (y : T -> A) (y' : T' -> A) W (rest : I -> Z),
  (forall s, 0 <= v s) -> (forall s, 0 <= v' s) -> \sum_s v s + \sum_s v' s <= W ->
  (forall t, 0 <= w t) -> (forall t, 0 <= w' t) -> \sum_t w t + \sum_t w' t <= W ->
  (forall s, valid (x s)) -> (forall s, valid (x' s)) -> (forall t, valid (y t)) -> (forall t, valid (y' t)) ->
  distance (fun i => rest i + (\sum_s v s * f (x s) i + \sum_s v' s * f (x' s) i))
           (fun i => rest i + (\sum_t w t * f (y t) i + \sum_t w' t * f (y' t) i)) <= W ^+ 2 * bound 1.
Proof.
move=> H S S' T T' v v' w w' x x' y y' W rest v0 v'0 vW w0 w'0 wW xv xv' yv yv'.
pose both (U U' : Type) (X : Type) (a : U -> X) (b : U' -> X) (u : U + U') := match u with inl s => a s | inr s => b s end.
rewrite (_ : distance _ _
  = distance (fun i => rest i + \sum_u both _ _ _ v v' u * f (both _ _ _ x x' u) i)
             (fun i => rest i + \sum_u both _ _ _ w w' u * f (both _ _ _ y y' u) i)); last first.
  by apply: eq_bigr => i _; rewrite !big_sumType.
apply: H; last by case.
- by split; [case | rewrite big_sumType].
- by split; [case | rewrite big_sumType].
- by case.
Qed.

Lemma distance_twice (I : finType) (x y z : I -> Z) : distance x z <= 2%:R * (distance x y + distance y z).
Proof.
rewrite /distance -big_split mulr_sumr; apply: ler_sum => i _ /=; rewrite -subr_ge0.
have -> : 2%:R * ((x i - y i) ^+ 2 + (y i - z i) ^+ 2) - (x i - z i) ^+ 2 = (x i + z i - 2%:R * y i) ^+ 2 by ring.
exact: sqr_ge0.
Qed.

Lemma person_parted (A : Type) (I : finType) (f : A -> I -> Z) valid bound :
  person_replaced f valid bound ->
  forall (S T T' : finType) (v : S -> Z) (w : T -> Z) (w' : T' -> Z) (x : S -> A) (y : T -> A) (y' : T' -> A) W rest,
  weighs v W -> weighs w W -> weighs w' W ->
  (forall s, valid (x s)) -> (forall t, valid (y t)) -> (forall t, valid (y' t)) ->
  distance (fun i => rest i + \sum_s v s * f (x s) i)
           (fun i => rest i + \sum_t w t * f (y t) i + \sum_t w' t * f (y' t) i) <= 4%:R * (W ^+ 2 * bound 1).
Proof.
move=> H S T T' v w w' x y y' W rest vW wW w'W xv yv yv'.
have one := H _ _ v w x y W rest vW wW xv yv.
have nobody : weighs (fun t : 'I_0 => 0) W by split; [case | rewrite big_ord0; case: vW => v0; apply: le_trans; apply: sumr_ge0].
have two := H _ _ (fun t : 'I_0 => 0) w' (fun t => match t with Ordinal _ lt0 => False_rect A (notF lt0) end) y' W
  (fun i => rest i + \sum_t w t * f (y t) i) nobody w'W.
apply: le_trans (distance_twice _ (fun i => rest i + \sum_t w t * f (y t) i) _) _.
have -> : 4%:R * (W ^+ 2 * bound 1) = 2%:R * (W ^+ 2 * bound 1 + W ^+ 2 * bound 1) by ring.
apply: ler_wpmul2l; first exact: ler0n.
apply: ler_add; first exact: one.
apply: le_trans (two _ yv'); last by case.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigr => i _; rewrite big_ord0 addr0.
Qed.

(* ------------------------------------------------------------------ survey weights *)
Lemma total_replaced (S T : finType) (u v : S -> Z) (u' v' : T -> Z) W :
  0 <= W -> weighed W u v -> weighed W u' v' ->
  distance (total W u v) (total W u' v') <= W ^+ 4 * Formulas.weight_square 1.
Proof. by move=> W0 uv uv'; rewrite mulr1; apply: Weights.total_replaced. Qed.

Lemma total_added (T : finType) (u v : T -> Z) W :
  0 <= W -> weighed W u v -> square (total W u v) <= W ^+ 4 * Formulas.weight_square 1.
Proof. by move=> W0 uv; rewrite mulr1; apply: Weights.total_added. Qed.

(* ------------------------------------------------------------------ integer rows *)
Lemma rounded_row_in_ball (R : realDomainType) p (z k : 'I_p -> R) (room root q : nat) :
  (root ^ 2 <= room)%N -> (p < q.+1 ^ 2)%N -> (q %/ 2 + 2 <= root)%N ->
  \sum_j z j ^+ 2 <= (root - q %/ 2 - 2).+1%:R ^+ 2 -> (forall j, `|2%:R * k j - 2%:R * z j| <= 1) ->
  \sum_j k j ^+ 2 <= room%:R.
Proof.
move=> rr pq qr zb kz; apply: (Rounding.rounded zb kz (q := q)); rewrite ?card_ord //.
by rewrite {1}(divn_eq q 2) mulnC leq_add2l -ltnS ltn_pmod.
Qed.

Lemma boxed_row_in_ball p (k : row p) (levels : Z) :
  (forall j, `|k j| <= levels) -> square k <= Z.of_nat p * levels ^+ 2.
Proof. by move=> kL; rewrite -{2}[p]card_ord -natZ; apply: Rounding.boxed. Qed.

Lemma box_fits room p : 0 <= room -> 0 < p -> p * Formulas.box_levels room p ^+ 2 <= room.
Proof.
move=> room0 p0; rewrite /Formulas.box_levels.
have q0 : (0 <= room / p)%z by apply: Z.div_pos; lia.
have [low _] := Z.sqrt_spec _ q0; have := Z.mul_div_le room p; rewrite expr2; nia.
Qed.

Lemma partial_sums (T : finType) (A : {set T}) p (k : T -> row p) (n : nat) (B : Z) i j :
  (#|A| <= n)%N -> (forall t, square (k t) <= B) -> 0 <= B -> `|\sum_(t in A) k t i * k t j| <= n%:R * B.
Proof. exact: Rounding.entry. Qed.
